-- Merges the heads of lines, unlocked, and answers the lines that have open tasks, with the `quotas`: how many each has among the
-- foremost `p_left` for which there is room in their lanes. `p_depth`: how far to read into each line; the tasks behind the last
-- row read of one are not known, so the merge is sound up to there. Reads the heads of the lines in `task_ready`. Runs under the
-- settings of the claim.

create or replace function kinfolk.merge_lines(
    p_queue integer, p_lines kinfolk.merged_lines, p_left integer, p_top_room integer, p_child_room integer, p_depth integer
) returns kinfolk.merged_lines
language plpgsql volatile
as $$
begin
    with heads as materialized (
        select g.nth, g.lane, h.priority, h.position, h.id, h.rank = p_depth and r.room > p_depth as is_edge
        from unnest(p_lines.commands, p_lines.lanes, p_lines.priorities, p_lines.positions, p_lines.ids)
            with ordinality as g(command_id, lane, priority, position, id, nth)
        cross join lateral (
            select case g.lane when 'top' then p_top_room when 'child' then p_child_room else p_left end as room
        ) r
        cross join lateral (
            select t.priority, t.position, t.id, row_number() over (order by t.priority, t.position, t.id) as rank
            from kinfolk.open_task t
            where t.queue_id = p_queue
                and t.lane = g.lane
                and t.command_id = g.command_id
                and (t.priority, t.position, t.id) > (g.priority, g.position, g.id)
            order by t.priority, t.position, t.id
            limit least(p_depth, r.room)
        ) h
    ),
    lined_up as (
        select h.nth, h.is_edge, h.lane, row_number() over line as rank,
            count(*) filter (where h.lane = 'top') over line - p_top_room as tops_over,
            count(*) filter (where h.lane = 'child') over line - p_child_room as children_over
        from heads h
        window line as (order by h.priority, h.position, h.id)
    ),
    -- Tasks without room are left out, and the others close up.
    merged as (
        select l.nth, l.is_edge, l.rank - greatest(l.tops_over, 0) - greatest(l.children_over, 0) as rank
        from lined_up l
        where case l.lane when 'top' then l.tops_over <= 0 when 'child' then l.children_over <= 0 else true end
    ),
    foremost as (
        select m.nth, count(*)::integer as many
        from merged m
        where m.rank <= least(p_left, (select min(e.rank) from merged e where e.is_edge))
        group by m.nth
    )
    select array_agg(coalesce(f.many, 0) order by g.nth), array_agg(g.command_id order by g.nth), array_agg(g.lane order by g.nth),
        array_agg(g.priority order by g.nth), array_agg(g.position order by g.nth), array_agg(g.id order by g.nth)
    into p_lines.quotas, p_lines.commands, p_lines.lanes, p_lines.priorities, p_lines.positions, p_lines.ids
    from unnest(p_lines.commands, p_lines.lanes, p_lines.priorities, p_lines.positions, p_lines.ids)
        with ordinality as g(command_id, lane, priority, position, id, nth)
    join (select h.nth from heads h group by h.nth) alive on alive.nth = g.nth
    left join foremost f on f.nth = g.nth;
    return p_lines;
end
$$;
