-- The next priority behind this one in which a task waits for its turn.
create or replace function kinfolk.next_priority(
    p_queue integer, p_lines kinfolk.line[], p_passed bigint[], p_behind bigint
) returns table (priority integer)
language sql stable
as $$
    select t.priority
    from unnest(p_lines) as l
    cross join lateral (
        select t.priority
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.command_id = l.command_id
            and t.lane = l.lane
            and t.suspect = l.suspect
            and t.priority > p_behind
            and t.gate = 'turn'
            and t.id <> all (p_passed)
        order by t.priority, t.fair_value, t.position, t.id
        limit 1
    ) t
    order by t.priority
    limit 1
$$;
