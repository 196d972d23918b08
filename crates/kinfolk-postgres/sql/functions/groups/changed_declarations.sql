-- The numbers of the commands, in the order given, whose groups differ from these. Of a command that is given twice the last
-- one counts.
create or replace function kinfolk.changed_declarations(p_names text[], p_groups jsonb[]) returns integer[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(g.nth::integer order by g.nth), '{}')
    from unnest(p_names, p_groups) with ordinality as g(name, groups, nth)
    where g.groups is not null
        and g.groups is distinct from coalesce(kinfolk.declared_groups((
            select c.id
            from kinfolk.command c
            where c.name = g.name)), '{}')
        and not exists (
            select
            from unnest(p_names, p_groups) with ordinality as l(name, groups, nth)
            where l.name = g.name
                and l.nth > g.nth
                and l.groups is not null)
$$;
