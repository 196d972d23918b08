-- Which fan-outs a handler that failed by itself, or was cancelled, awaits again: those that did not end well (of one that was
-- cancelled also those with children that were cancelled with it), and that it knows of once it has forgotten every step from
-- `cut` on. That is where it heard of the first such end, or where it took in part of a stream before,
-- since the order changes in which that one was read. No row where there are none.
create or replace function kinfolk.reopening(p_task bigint) returns table (cut integer, fan_outs bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with bad as materialized (
        select f.id, c.seq, least(f.decided_step, (
                select min(s.seq)
                from kinfolk.checkpoint s
                where s.task_id = p_task
                    and s.seq > c.seq
                    and s.kind = 'fold')) as cut
        from kinfolk.task t
        join kinfolk.checkpoint c on c.task_id = t.id
        cross join lateral (
            select f.id, f.decided_step
            from kinfolk.fan_out f
            where f.id = (c.value #>> '{}')::bigint
                and (f.verdict in ('failed', 'timed_out') or (t.state = 'cancelled' and f.cancelled > 0))
            offset 0
        ) f
        where t.id = p_task
            and c.kind = 'fan_out'
    )
    select m.cut, array_agg(b.id)
    from (select min(b.cut) as cut from bad b) m
    join bad b on b.seq < m.cut
    group by m.cut
$$;
