-- The clock, the workers with a live lease, the fan-outs with open children that their tasks wait for and their families, the
-- states in which there are more tasks than `count_tasks` counts, and for each queue with open tasks the position of the one at the
-- head of the line. Locks nothing; reads `task_waiting` and `fan_out_task`, `task_ready`, `task_suspect` and `task_turn`. Each arm is read in
-- the order of its index: what `any_open` has put together would be sorted.
create or replace function kinfolk.stats()
returns table (
    now timestamptz, workers bigint, queue text, oldest_open timestamptz, fan_outs bigint, families bigint, more text[]
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with clock as materialized (
        select kinfolk.clock() as now
    ),
    live as (
        select count(*) as workers
        from kinfolk.worker w, clock
        where w.lease_until >= clock.now
    ),
    head as (
        select q.id as queue_id, q.name, h.priority, h.position, h.id
        from kinfolk.queue q
        cross join kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            (
                select t.priority, t.position, t.id
                from kinfolk.open_task t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                order by t.priority, t.position, t.id
                limit 1
            )
            union all
            (
                select t.priority, t.position, t.id
                from kinfolk.open_suspect t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                order by t.priority, t.position, t.id
                limit 1
            )
        ) h
        union all
        -- On a queue with a fair key open tasks are sorted in by their values.
        select q.id, q.name, h.priority, h.position, h.id
        from kinfolk.queue q
        cross join lateral kinfolk.turn_lines(q.id) l
        cross join lateral (
            select t.priority, t.position, t.id
            from kinfolk.task t
            where t.queue_id = q.id
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.suspect = l.suspect
                and t.priority = l.priority
                and t.fair_value = l.value
                and t.gate = 'turn'
            order by t.position, t.id
            limit 1
        ) h
        where q.fair is not null
    ),
    heads as (
        select distinct on (h.queue_id) h.name, h.position
        from head h
        order by h.queue_id, h.priority, h.position, h.id
    )
    select clock.now, live.workers, heads.name, heads.position, a.fan_outs, a.families, kinfolk.more_than_counted()
    from clock
    cross join live
    cross join kinfolk.active_fan_outs() a
    left join heads on true
    order by heads.name
$$;
