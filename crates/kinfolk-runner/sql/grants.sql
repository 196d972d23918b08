-- The statements that give a role what it needs and take away what it does not, each with whether it is so already. Reads the catalogue
-- alone, and locks nothing. $1 is the role, $2 what it is (worker, producer, viewer, operator, handler; it may be several), $3 functions as
-- schema.name.

with asked as (
    select r.oid, r.rolname, r.rolsuper, 'handler' = any ($2::text[]) as is_handler
    from pg_catalog.pg_roles r
    where r.rolname = $1
),
kind as (
    select 'kinfolk_' || k.name as name
    from (select distinct unnest($2::text[]) as name) k
),
named as (
    select p.oid, p.oid::regprocedure::text as signature, n.oid as schema, n.nspname, p.proowner, p.prosecdef, p.proconfig,
        coalesce(p.proacl, acldefault('f', p.proowner)) as acl
    from unnest($3::text[]) as f(name)
    join pg_catalog.pg_proc p on p.oid = to_regprocedure(f.name || '(jsonb)')
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
)
select s.statement, s.is_so
from (
    select 1 as nth, format('grant %I to %I', k.name, a.rolname) as statement, pg_has_role(a.oid, k.name, 'usage') as is_so
    from asked a
    cross join kind k
    union all
    select 2, format('grant usage on schema %I to %I', n.nspname, a.rolname), has_schema_privilege(a.oid, n.schema, 'usage')
    from asked a
    cross join (select distinct n.schema, n.nspname from named n) n
    union all
    select 3, format('grant execute on function %s to %I', n.signature, a.rolname), exists (
            -- By a grant of its own: that of the public is to go.
            select
            from aclexplode(n.acl) x
            where x.grantee <> 0
                and pg_has_role(a.oid, x.grantee, 'usage'))
    from asked a
    cross join named n
    where not a.is_handler
    union all
    select 4, format('revoke execute on function %s from public', n.signature), not exists (
            select
            from aclexplode(n.acl) x
            where x.grantee = 0)
    from named n
    union all
    select 5, format('alter function %s owner to %I', n.signature, a.rolname), n.proowner = a.oid
    from asked a
    cross join named n
    where a.is_handler
    union all
    select 6, format('alter function %s security definer set search_path = pg_catalog, pg_temp', n.signature),
        n.prosecdef and exists (select from unnest(n.proconfig) c where c like 'search_path=%')
    from asked a
    cross join named n
    where a.is_handler
    union all
    select 7, format('revoke %I from %I', o.name, a.rolname), false
    from asked a
    cross join unnest(array['kinfolk_owner', 'kinfolk_operator', 'kinfolk_viewer', 'kinfolk_worker', 'kinfolk_producer',
        'kinfolk_handler']) as o(name)
    where pg_has_role(a.oid, o.name, 'usage')
        and not exists (
            select
            from kind k
            where k.name = o.name
                or (k.name = 'kinfolk_worker' and o.name in ('kinfolk_producer', 'kinfolk_handler')))
        and not a.rolsuper
    union all
    select 8, format('alter role %I nosuperuser', a.rolname), false
    from asked a
    where a.rolsuper
) s
order by s.nth, s.statement
