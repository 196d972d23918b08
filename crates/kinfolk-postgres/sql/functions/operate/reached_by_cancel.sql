-- The tasks that a cancel of these may lock: these and all below them, their owners at all levels, which may go on or end, and the next
-- child of each fan-out in order, which may open. Locks nothing; the caller has the families exclusively. Reads `fan_out_task`,
-- `task_fan_out` and `task_after`.
create or replace function kinfolk.reached_by_cancel(p_ids bigint[]) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    v_above bigint[];
    v_fan_outs bigint[];
begin
    with recursive above as (
        select t.id, t.parent_id, t.fan_out_id
        from unnest(p_ids) as p(id)
        join kinfolk.task t on t.id = p.id
        union
        select t.id, t.parent_id, t.fan_out_id
        from above a
        join kinfolk.task t on t.id = a.parent_id
    )
    select array_agg(a.id), array_agg(distinct a.fan_out_id) filter (where a.fan_out_id is not null)
    into v_above, v_fan_outs
    from above a;
    return v_above
        || kinfolk.members_below(array(select f.id from kinfolk.fan_out f where f.task_id = any (p_ids)))
        || array(
            select n.id
            from unnest(v_fan_outs) as f(id)
            cross join lateral (
                select t.id
                from kinfolk.task t
                where t.fan_out_id = f.id
                    and t.gate = 'after'
                    and t.id <> all (v_above)
                order by t.nth
                limit 1
            ) n);
end
$$;
