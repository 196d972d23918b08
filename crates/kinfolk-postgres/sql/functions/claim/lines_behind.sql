-- The lines to go on with behind the tasks of a claim: lines that gave all they were asked for, and have room in their lane.
-- Reads the tasks taken by their keys. Runs under the settings of the claim.

create or replace function kinfolk.lines_behind(
    p_lines kinfolk.merged_lines, p_taken bigint[], p_has_top_room boolean, p_has_child_room boolean
) returns kinfolk.merged_lines
language plpgsql volatile
as $$
begin
    with last as (
        select distinct on (t.command_id, t.lane) t.command_id, t.lane, t.priority, t.position, t.id,
            count(*) over (partition by t.command_id, t.lane) as many
        from unnest(p_taken) as p(id)
        join kinfolk.task t on t.id = p.id
        order by t.command_id, t.lane, t.priority desc, t.position desc, t.id desc
    )
    select array_agg(g.command_id), array_agg(g.lane), array_agg(coalesce(l.priority, g.priority)),
        array_agg(coalesce(l.position, g.position)), array_agg(coalesce(l.id, g.id))
    into p_lines.commands, p_lines.lanes, p_lines.priorities, p_lines.positions, p_lines.ids
    from unnest(p_lines.commands, p_lines.lanes, p_lines.quotas, p_lines.priorities, p_lines.positions, p_lines.ids)
        as g(command_id, lane, quota, priority, position, id)
    left join last l on l.command_id = g.command_id and l.lane = g.lane
    where coalesce(l.many, 0) >= g.quota
        and case g.lane when 'top' then p_has_top_room when 'child' then p_has_child_room else true end;
    return p_lines;
end
$$;
