-- The foremost tasks of the lines of a claim, and tasks with a reservation, each with the number of its line and how many were to be
-- read of that line. A task with a reservation is a line of its own: other tasks may be before it, and may not have the kept room.
--
-- Locks nothing. Reads `task_ready`, `task_suspect` and `task_blocked`: an arm each, since only one of them is read for a line, in its
-- own order. Stable, so that it sees what the statement sees that locks these tasks. Runs under the settings of the claim.
create or replace function kinfolk.line_heads(
    p_scope kinfolk.claim_scope, p_lines kinfolk.claim_line[], p_lanes kinfolk.lane[], p_behind kinfolk.stand, p_has_reserved boolean
) returns table (nth bigint, most integer, id bigint, priority integer, "position" timestamptz)
language plpgsql stable
as $$
begin
    return query
    select s.nth, s.most, t.id, t.priority, t.position
    from unnest(p_lines) with ordinality as s(command_id, lane, suspect, group_id, key, most, priority, position, id, nth)
    cross join lateral (
        (
            select t.id, t.priority, t.position
            from kinfolk.open_task t
            where s.group_id is null
                and not s.suspect
                and t.queue_id = p_scope.queue_id
                and t.lane = s.lane
                and t.command_id = s.command_id
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit s.most
        )
        union all
        (
            select t.id, t.priority, t.position
            from kinfolk.open_suspect t
            where s.suspect
                and t.queue_id = p_scope.queue_id
                and t.lane = s.lane
                and t.command_id = s.command_id
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit s.most
        )
        union all
        (
            select t.id, t.priority, t.position
            from kinfolk.task t
            where s.group_id is not null
                and t.blocked_group = s.group_id
                and t.blocked_key = s.key
                and t.queue_id = p_scope.queue_id
                and t.command_id = s.command_id
                and t.lane = s.lane
                and t.gate = 'limit'
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit s.most
        )
    ) t;
    if p_has_reserved then
        return query
        select -r.id, 0, r.id, r.priority, r.position
        from kinfolk.reserved_heads(p_scope, p_lanes, p_behind) r;
    end if;
end
$$;
