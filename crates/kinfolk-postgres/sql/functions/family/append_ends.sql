-- Appends the children that have ended now to the order of ends of their awaited fan-outs, which are of one depth and which
-- the caller has locked and counted. Children that end together are in the order of their `nth`.
create or replace function kinfolk.append_ends(p_fan_outs bigint[], p_nths integer[], p_depth smallint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.ended_page (fan_out_id, first, nths)
    select g.id, f.ended - cardinality(g.nths), g.nths
    from (
        select e.id, array_agg(e.nth order by e.nth) as nths
        from (select unnest(p_fan_outs) as id, unnest(p_nths) as nth) e
        where e.id is not null
            and e.nth is not null
        group by e.id
    ) g
    cross join lateral (
        select f.completed + f.failed + f.cancelled as ended, f.depth, f.rule
        from kinfolk.fan_out f
        where f.id = g.id
        offset 0
    ) f
    where f.depth = p_depth
        and f.rule is not null;
end
$$;
