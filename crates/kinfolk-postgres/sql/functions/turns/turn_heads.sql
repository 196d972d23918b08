-- The foremost tasks of each line behind values of the fair key, `p_depth` of each. `round`: which task of its value it is. `is_late`: its
-- value is not behind `p_turn`, so it comes after the tasks whose value is. Leaves out the tasks in `p_passed`.
--
-- Locks nothing. Reads `task_turn`. Stable, so that it sees what the statement sees that locks these tasks. Runs under the settings of
-- the claim.
create or replace function kinfolk.turn_heads(
    p_queue integer, p_lines kinfolk.line[], p_priorities integer[], p_values text[], p_passed bigint[], p_turn text, p_depth integer
) returns table (
    nth bigint, priority integer, lane kinfolk.lane, suspect boolean, is_late boolean, value text, id bigint, round bigint
)
language plpgsql stable
as $$
begin
    return query
    with stream as materialized (
        select row_number() over () as nth, v.priority, v.value, l.command_id, l.lane, l.suspect
        from unnest(p_priorities, p_values) as v(priority, value)
        cross join unnest(p_lines) as l
    )
    select s.nth, s.priority, s.lane, s.suspect, coalesce(s.value collate "C" <= p_turn, false), s.value collate "C", t.id,
        row_number() over (partition by s.priority, s.value order by t.position, t.id)
    from stream s
    cross join lateral (
        select t.id, t.position
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.command_id = s.command_id
            and t.lane = s.lane
            and t.suspect = s.suspect
            and t.priority = s.priority
            and t.fair_value = s.value
            and t.gate = 'turn'
            and t.id <> all (p_passed)
        order by t.position, t.id
        limit p_depth
    ) t;
end
$$;
