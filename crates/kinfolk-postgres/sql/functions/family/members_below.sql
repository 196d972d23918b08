-- All open tasks below these fan-outs, by number; the caller has locked their family exclusively. Only a task that waits, or
-- was suspended before, has open children.
create or replace function kinfolk.members_below(p_fan_outs bigint[]) returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive member as (
        select c.id, c.state = 'waiting' or c.was_suspended as may_have_children
        from unnest(p_fan_outs) as f(id)
        cross join lateral (
            select c.id, c.state, c.was_suspended
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.state < 'completed'
            offset 0
        ) c
        union all
        select c.id, c.state = 'waiting' or c.was_suspended
        from member m
        cross join lateral (select f.id from kinfolk.fan_out f where f.task_id = m.id offset 0) f
        cross join lateral (
            select c.id, c.state, c.was_suspended
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.state < 'completed'
            offset 0
        ) c
        where m.may_have_children
    )
    select array_agg(m.id order by m.id) from member m
$$;
