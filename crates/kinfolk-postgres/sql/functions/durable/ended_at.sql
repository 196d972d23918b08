-- When the children of an awaited fan-out ended that have these indexes in the order of ends (0 ended first), one by one; an index
-- that none has yet is left out. Locks nothing. Reads `ended_page` by its key and `task_fan_out`, one row of each for an index.
-- Errors: KF001 for too many indexes, KF002 when there is no such fan-out, or no handler awaits it.
create or replace function kinfolk.ended_at(p_fan_out bigint, p_indexes integer[])
returns table (ended_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
    if cardinality(p_indexes) > kinfolk.page_max() then
        raise exception using errcode = 'KF001', message = format('%s indexes', cardinality(p_indexes)),
            hint = format('at most %s', kinfolk.page_max());
    end if;
    if not exists (select from kinfolk.fan_out f where f.id = p_fan_out and f.rule is not null) then
        raise exception using errcode = 'KF002', message = format('there is no fan-out %s', coalesce(p_fan_out::text, 'null'));
    end if;
    return query
    select t.finished_at
    from unnest(p_indexes) with ordinality as g(index, ordinal)
    cross join lateral (
        select p.nths[least(g.index, 2147483646) - p.first + 1] as nth
        from kinfolk.ended_page p
        where p.fan_out_id = p_fan_out
            and p.first <= g.index
        order by p.first desc
        limit 1
    ) e
    cross join lateral (
        select t.finished_at
        from kinfolk.task t
        where t.fan_out_id = p_fan_out
            and t.nth = e.nth
        offset 0
    ) t
    order by g.ordinal;
end
$$;
