-- The value with the next turn in a priority: the first from `p_from` on. Behind the last value the turns begin again, up to
-- `p_turn`: `is_late`, the search has begun again.
create or replace function kinfolk.next_value(
    p_queue integer, p_lines kinfolk.line[], p_passed bigint[], p_turn text, p_priority integer, p_from text, p_is_late boolean
) returns table (value text, is_late boolean)
language sql stable
as $$
    select v.value, s.is_late
    from (values (p_from, p_is_late), (case when not p_is_late then '' end, true)) as s(start, is_late)
    cross join lateral (
        select t.value
        from unnest(p_lines) as l
        cross join lateral (
            select t.fair_value as value
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.suspect = l.suspect
                and t.priority = p_priority
                and t.fair_value >= s.start
                and t.gate = 'turn'
                and t.id <> all (p_passed)
            order by t.fair_value, t.position, t.id
            limit 1
        ) t
        order by t.value
        limit 1
    ) v
    where not s.is_late
        or v.value collate "C" <= p_turn
    limit 1
$$;
