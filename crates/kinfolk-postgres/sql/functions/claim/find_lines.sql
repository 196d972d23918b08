-- The lines of these commands and lanes that have open tasks, each with the position behind which to look: if there is but one,
-- there is nothing to merge. Reads the heads of lines in `task_ready`. Runs under the settings of the claim.

create or replace function kinfolk.find_lines(
    p_queue integer, p_commands text[], p_lanes kinfolk.lane[], p_low_priority integer[], p_low_position timestamptz[], p_low_id bigint[]
) returns kinfolk.merged_lines
language plpgsql volatile
as $$
declare
    v_lines kinfolk.merged_lines;
begin
    if cardinality(p_lanes) * cardinality(p_commands) = 1 then
        select array[c.id], p_lanes, array[coalesce(g.priority, -2147483648)], array[coalesce(g.position, '-infinity')],
            array[coalesce(g.id, 0)]
        into v_lines.commands, v_lines.lanes, v_lines.priorities, v_lines.positions, v_lines.ids
        from kinfolk.cursors_of_lane(p_commands, p_lanes[1], p_low_priority, p_low_position, p_low_id) g
        join kinfolk.command c on c.name = g.name;
        return v_lines;
    end if;
    select array_agg(g.command_id), array_agg(g.lane), array_agg(g.priority), array_agg(g.position), array_agg(g.id)
    into v_lines.commands, v_lines.lanes, v_lines.priorities, v_lines.positions, v_lines.ids
    from (
        select c.id as command_id, l.lane, coalesce(g.priority, -2147483648) as priority,
            coalesce(g.position, '-infinity') as position, coalesce(g.id, 0) as id
        from unnest(p_lanes) as l(lane)
        cross join lateral kinfolk.cursors_of_lane(p_commands, l.lane, p_low_priority, p_low_position, p_low_id) g
        join kinfolk.command c on c.name = g.name
        offset 0
    ) g
    -- Not by `exists`, which may be planned as a join that reads whole lanes.
    cross join lateral (
        select
        from kinfolk.open_task t
        where t.queue_id = p_queue
            and t.lane = g.lane
            and t.command_id = g.command_id
            and (t.priority, t.position, t.id) > (g.priority, g.position, g.id)
        order by t.priority, t.position, t.id
        limit 1
    ) h;
    return v_lines;
end
$$;
