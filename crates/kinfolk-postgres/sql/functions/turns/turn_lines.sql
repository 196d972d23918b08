-- The lines of a queue with a fair key that have tasks, by value, command and lane. Steps from one line to the next in
-- `task_blocked`, however many tasks wait in each, and no further than the caller reads.
create or replace function kinfolk.turn_lines(p_queue integer)
returns table (value text, command_id integer, lane kinfolk.lane)
language sql stable
as $$
    with recursive line as (
        (
            select t.blocked_key as value, t.command_id, t.lane
            from kinfolk.task t
            where t.blocked_group = -p_queue
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id, t.lane
            limit 1
        )
        union all
        select n.value, n.command_id, n.lane
        from line l
        cross join lateral (
            select t.blocked_key as value, t.command_id, t.lane
            from kinfolk.task t
            where t.blocked_group = -p_queue
                and t.gate = 'limit'
                and (t.blocked_key, t.queue_id, t.command_id, t.lane) > (l.value, p_queue, l.command_id, l.lane)
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id, t.lane
            limit 1
        ) n
    )
    select l.value, l.command_id, l.lane from line l
$$;
