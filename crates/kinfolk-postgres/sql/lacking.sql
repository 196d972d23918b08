-- The parts of this version's schema that are missing, or belong to a role other than kinfolk_owner: a script that stopped
-- half way, or a hand that dropped something. Reads the catalogue alone, and locks nothing.
-- $1 are kinds (routine, relation, type), $2 names, $3 how many there are of that name.

select
    w.kind,
    w.name
from unnest($1::text[], $2::text[], $3::integer[]) as w(kind, name, many)
where w.many > (
    select count(*)
    from (
        select 'routine' as kind, p.proname as name, p.proowner as owner
        from pg_catalog.pg_proc p
        where p.pronamespace = 'kinfolk'::regnamespace
        union all
        select 'relation', c.relname, c.relowner
        from pg_catalog.pg_class c
        where c.relnamespace = 'kinfolk'::regnamespace
        union all
        select 'type', t.typname, t.typowner
        from pg_catalog.pg_type t
        where t.typnamespace = 'kinfolk'::regnamespace
    ) h
    join pg_catalog.pg_roles r on r.oid = h.owner
    where h.kind = w.kind
        and h.name = w.name
        and r.rolname = 'kinfolk_owner'
)
order by w.kind, w.name
