-- How many tasks of each command are in each state on each queue.

create or replace function kinfolk.count_tasks()
returns table (queue text, command text, state text, tasks bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select q.name, c.name, n.state::text, n.tasks
    from (
        select t.queue_id, t.command_id, t.state, count(*) as tasks
        from kinfolk.task t
        group by t.queue_id, t.command_id, t.state
    ) n
    join kinfolk.queue q on q.id = n.queue_id
    join kinfolk.command c on c.id = n.command_id
    order by q.name, c.name, n.state
$$;

-- The clock, the workers with a live lease, and for each queue with open tasks the place of the one at the head of the
-- line.
create or replace function kinfolk.stats()
returns table (now timestamptz, workers bigint, queue text, oldest_open timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
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
        select q.id as queue_id, q.name, h.priority, h.place, h.id
        from kinfolk.queue q
        cross join kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            (
                select t.priority, t.place, t.id
                from kinfolk.task t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                order by t.priority, t.place, t.id
                limit 1
            )
            union all
            (
                select t.priority, t.place, t.id
                from kinfolk.task t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and t.suspect
                order by t.priority, t.place, t.id
                limit 1
            )
        ) h
        union all
        -- On a queue with a fair key open tasks are lined up behind their values.
        select q.id, q.name, h.priority, h.place, h.id
        from kinfolk.queue q
        cross join lateral kinfolk.turn_lines(q.id) l
        cross join lateral (
            select t.priority, t.place, t.id
            from kinfolk.task t
            where t.parked_group = -q.id
                and t.parked_key = l.value
                and t.queue_id = q.id
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.gate = 'limit'
            order by t.priority, t.place, t.id
            limit 1
        ) h
        where q.fair is not null
    ),
    heads as (
        select distinct on (h.queue_id) h.name, h.place
        from head h
        order by h.queue_id, h.priority, h.place, h.id
    )
    select clock.now, live.workers, heads.name, heads.place
    from clock
    cross join live
    left join heads on true
    order by heads.name
$$;
