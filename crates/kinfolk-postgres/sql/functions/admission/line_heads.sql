-- The foremost tasks of the lines of a claim behind a stand, each with the number of its line: open tasks and ready waiters of its
-- commands, and suspects, in lanes with room.
--
-- Locks nothing. Reads `task_ready` and `task_suspect`. Stable, so that it sees what the statement sees that locks these tasks. Runs
-- under the settings of the claim.
create or replace function kinfolk.line_heads(
    p_scope kinfolk.claim_scope, p_admission kinfolk.claim_admission, p_lanes kinfolk.lane[], p_behind kinfolk.stand, p_depth integer
) returns table (nth bigint, id bigint, priority integer, "position" timestamptz)
language plpgsql stable
as $$
begin
    return query
    with line as materialized (
        select row_number() over () as nth, c.id as command_id, l.lane, s.suspect,
            case when b.is_low then g.priority else p_behind.priority end as priority,
            case when b.is_low then g.position else p_behind.position end as position,
            case when b.is_low then g.id else p_behind.id end as id
        from unnest(p_lanes) as l(lane)
        cross join lateral kinfolk.begin_at(p_scope.commands, l.lane, p_scope.low_priority, p_scope.low_position, p_scope.low_id) g
        join kinfolk.command c on c.name = g.name
        cross join (values (false), (true)) as s(suspect)
        cross join lateral (
            select not s.suspect and (g.priority, g.position, g.id) > (p_behind.priority, p_behind.position, p_behind.id) as is_low
        ) b
        where case l.lane when 'top' then p_admission.top_room > 0 when 'child' then p_admission.child_room > 0 else true end
            and (p_admission.may_suspect or not s.suspect)
    )
    select s.nth, t.id, t.priority, t.position
    from line s
    cross join lateral (
        (
            select t.id, t.priority, t.position
            from kinfolk.startable_task t
            where not s.suspect
                and t.queue_id = p_scope.queue_id
                and t.lane = s.lane
                and t.command_id = s.command_id
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit p_depth
        )
        union all
        (
            select t.id, t.priority, t.position
            from kinfolk.startable_suspect t
            where s.suspect
                and t.queue_id = p_scope.queue_id
                and t.lane = s.lane
                and t.command_id = s.command_id
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit p_depth
        )
    ) t;
end
$$;
