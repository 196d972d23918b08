-- The lines of tasks that take turns on a queue, by command, lane, priority and value. Steps from one line to the next in `task_turn`,
-- however many tasks wait in each, and no further than the caller reads.
create or replace function kinfolk.turn_lines(p_queue integer)
returns table (command_id integer, lane kinfolk.lane, suspect boolean, priority integer, value text)
language sql stable
as $$
    with recursive line as (
        (
            select t.command_id, t.lane, t.suspect, t.priority, t.fair_value as value
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.gate = 'turn'
            order by t.command_id, t.lane, t.suspect, t.priority, t.fair_value
            limit 1
        )
        union all
        select n.command_id, n.lane, n.suspect, n.priority, n.value
        from line l
        cross join lateral (
            select t.command_id, t.lane, t.suspect, t.priority, t.fair_value as value
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.gate = 'turn'
                and (t.command_id, t.lane, t.suspect, t.priority, t.fair_value)
                    > (l.command_id, l.lane, l.suspect, l.priority, l.value)
            order by t.command_id, t.lane, t.suspect, t.priority, t.fair_value
            limit 1
        ) n
    )
    select l.command_id, l.lane, l.suspect, l.priority, l.value from line l
$$;
