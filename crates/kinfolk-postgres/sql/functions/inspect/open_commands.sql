-- Which of these commands, or of all (null), have open tasks, suspects among them, and on which queues: a row for each lane. Reads
-- the heads of lines in `task_ready` and `task_suspect`. Without settings of its own, so that it is planned as a part of the query
-- that asks.

create or replace function kinfolk.open_commands(p_commands text[]) returns table (command_id integer, queue_id integer)
language sql stable
as $$
    select c.id, q.id
    from kinfolk.command c
    cross join kinfolk.queue q
    cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
    -- Not by `exists`, which may be planned as a join that reads whole lanes.
    cross join lateral (
        select
        from kinfolk.any_open t
        where t.queue_id = q.id
            and t.lane = l.lane
            and t.command_id = c.id
        limit 1
    ) o
    where p_commands is null
        or c.name = any (p_commands)
$$;
