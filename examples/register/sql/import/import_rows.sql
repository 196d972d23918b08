-- Imports some lines of a job: what is wrong with a field is written down with its line and column, and the other lines go into the
-- register. A row that is there already (the same unit, the same first day) is replaced.
-- Locks the rows it replaces, in the order of their keys. Reads the lines by their primary key.

create function register.import_rows(p_job bigint, p_from integer, p_until integer) returns void
language plpgsql
set jit = off
set client_min_messages = warning
as $$
declare
    v_kind text := (select j.kind from register.import_job j where j.id = p_job);
begin
    drop table if exists pg_temp.parsed;
    create temporary table parsed on commit drop as
    select l.line, register.csv_fields(l.content) as fields,
        (select jsonb_object_agg(h.name, nullif(f.value, ''))
            from unnest(j.header, register.csv_fields(l.content)) as f(name, value)
            cross join lateral (select coalesce(f.name, 'extra')) as h(name)) as row
    from register.import_line l
    join register.import_job j on j.id = l.job_id
    where l.job_id = p_job and l.line between p_from and p_until;
    insert into register.import_error (job_id, line, column_name, message)
    select p_job, e.line, e.column_name, e.message
    from (
        select p.line, 'line' as column_name, case when p.fields is null then 'a quote is not closed'
            else format('%s fields where %s are expected', cardinality(p.fields), cardinality(j.header)) end as message
        from pg_temp.parsed p
        join register.import_job j on j.id = p_job
        where cardinality(p.fields) is distinct from cardinality(j.header)
        union all
        select p.line, c.name, register.field_error(c.kind, p.row ->> c.name, c.name)
        from pg_temp.parsed p
        join register.import_column c on c.of = v_kind
        where p.fields is not null
        union all
        select p.line, 'valid_until', format('%s is not after %s', p.row ->> 'valid_until', p.row ->> 'valid_from')
        from pg_temp.parsed p
        where p.row ->> 'valid_until' <= p.row ->> 'valid_from'
    ) e
    where e.message is not null
    on conflict do nothing;
    delete from pg_temp.parsed p
    using register.import_error e
    where e.job_id = p_job and e.line = p.line;
    execute format('select register.import_%s()', v_kind);
end
$$;

-- Which columns each kind of import has, and what is in them.
create table register.import_column (
    of text not null,
    name text not null,
    kind text not null,
    primary key (of, name)
);

insert into register.import_column (of, name, kind)
values
    ('enterprise', 'id', 'number'), ('enterprise', 'valid_from', 'date'), ('enterprise', 'valid_until', 'end'), ('enterprise', 'name', 'text'),
    ('legal_unit', 'id', 'number'), ('legal_unit', 'valid_from', 'date'), ('legal_unit', 'valid_until', 'end'), ('legal_unit', 'name', 'text'),
    ('legal_unit', 'enterprise_id', 'number'), ('legal_unit', 'legal_form', 'legal_form'), ('legal_unit', 'region', 'region'),
    ('legal_unit', 'activity', 'activity'),
    ('establishment', 'id', 'number'), ('establishment', 'valid_from', 'date'), ('establishment', 'valid_until', 'end'),
    ('establishment', 'name', 'text'), ('establishment', 'legal_unit_id', 'number'), ('establishment', 'region', 'region'),
    ('establishment', 'activity', 'activity'),
    ('figure', 'unit_type', 'unit_type'), ('figure', 'unit_id', 'number'), ('figure', 'valid_from', 'date'), ('figure', 'valid_until', 'end'),
    ('figure', 'employees', 'count'), ('figure', 'turnover', 'amount');

create function register.is_day(value text) returns boolean
language plpgsql immutable
as $$
begin
    if value !~ '^\d{4}-\d{2}-\d{2}$' or value::text < '0001' then
        return false;
    end if;
    return substr(value, 6, 2)::integer between 1 and 12 and substr(value, 9, 2)::integer between 1
        and extract(day from make_date(substr(value, 1, 4)::integer, substr(value, 6, 2)::integer, 1) + interval '1 month - 1 day');
end
$$;

-- What is wrong with a field; null if nothing is.
create function register.field_error(kind text, value text, column_name text) returns text
language plpgsql stable
as $$
begin
    return case
        when value is null then case when kind <> 'end' then format('%s is missing', column_name) end
        when kind in ('number', 'count', 'region', 'activity', 'legal_form') and value !~ '^\d{1,9}$' then format('%s is no number', value)
        when kind = 'number' and value::integer = 0 then 'numbers begin with 1'
        when kind = 'amount' and value !~ '^\d{1,15}$' then format('%s is no amount', value)
        when kind in ('date', 'end') and not register.is_day(value) then format('%s is no day, such as 2026-01-31', value)
        when kind = 'unit_type' and value not in ('establishment', 'legal_unit') then format('%s is no kind of unit', value)
        when kind = 'region' and not exists (select from register.region r where r.code = value::integer) then format('there is no region %s', value)
        when kind = 'activity' and not exists (select from register.activity a where a.code = value::integer)
            then format('there is no activity %s', value)
        when kind = 'legal_form' and not exists (select from register.legal_form f where f.code = value::integer)
            then format('there is no legal form %s', value)
    end;
end
$$;
