-- Everything about the schema that could differ between a new and a migrated one, one line each.

select 'column ' || c.relname || '.' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when a.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    || case when a.attidentity <> '' then ' identity' else '' end || ' ' || coalesce(o.collname, '')
from pg_attribute a
join pg_class c on c.oid = a.attrelid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_collation o on o.oid = a.attcollation
where c.relnamespace = 'kinfolk'::regnamespace
    and a.attnum > 0
    and not a.attisdropped
union all
select 'relation ' || c.relname || ' ' || c.relkind::text || ' ' || pg_get_userbyid(c.relowner) || ' '
    || coalesce(array_to_string(c.reloptions, ','), '') || ' ' || coalesce(c.relacl::text, '')
from pg_class c
where c.relnamespace = 'kinfolk'::regnamespace
union all
select 'index ' || pg_get_indexdef(i.indexrelid)
from pg_index i
join pg_class c on c.oid = i.indrelid
where c.relnamespace = 'kinfolk'::regnamespace
union all
select 'constraint ' || n.conrelid::regclass || ' ' || n.conname || ' ' || pg_get_constraintdef(n.oid)
from pg_constraint n
where n.connamespace = 'kinfolk'::regnamespace
union all
select 'enum ' || e.enumtypid::regtype || ' ' || string_agg(e.enumlabel, ',' order by e.enumsortorder)
from pg_enum e
join pg_type t on t.oid = e.enumtypid
where t.typnamespace = 'kinfolk'::regnamespace
group by e.enumtypid
union all
select 'function ' || pg_get_functiondef(p.oid) || ' ' || pg_get_userbyid(p.proowner) || ' ' || coalesce(p.proacl::text, '')
from pg_proc p
where p.pronamespace = 'kinfolk'::regnamespace
union all
select 'view ' || pg_get_viewdef(c.oid)
from pg_class c
where c.relnamespace = 'kinfolk'::regnamespace
    and c.relkind = 'v'
order by 1
