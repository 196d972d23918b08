-- The next value of a priority behind this one; the first value if this one is null.
create or replace function kinfolk.value_behind(
    p_queue integer, p_lines kinfolk.line[], p_passed bigint[], p_priority integer, p_value text
) returns table (value text)
language sql stable
as $$
    select t.value
    from unnest(p_lines) as l
    cross join lateral (
        (
            select t.blocked_key as value
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.suspect = l.suspect
                and t.priority = p_priority
                and t.blocked_key > p_value
                and t.gate = 'limit'
                and t.blocked_group < 0
                and t.id <> all (p_passed)
            order by t.blocked_key, t.position, t.id
            limit 1
        )
        union all
        (
            select t.blocked_key
            from kinfolk.task t
            where p_value is null
                and t.queue_id = p_queue
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.suspect = l.suspect
                and t.priority = p_priority
                and t.gate = 'limit'
                and t.blocked_group < 0
                and t.id <> all (p_passed)
            order by t.blocked_key, t.position, t.id
            limit 1
        )
    ) t
    order by t.value
    limit 1
$$;
