-- Locks the foremost open tasks of lines, so many of each as its quota says, never waiting. Answers their numbers and how many
-- they are, whether any of them starts under a unique key, which of them stood in the lane `top`, and how many in the lane
-- `child`. Reads `task_ready`. Runs under the settings of the claim.

create or replace function kinfolk.lock_heads(
    p_queue integer, p_lines kinfolk.merged_lines,
    out ids bigint[], out many integer, out starts_unique boolean, out tops bigint[], out children integer
)
language plpgsql volatile
as $$
begin
    with picked as materialized (
        select g.lane, p.id, p.starts_unique
        from unnest(p_lines.commands, p_lines.lanes, p_lines.quotas, p_lines.priorities, p_lines.positions, p_lines.ids)
            as g(command_id, lane, quota, priority, position, id)
        cross join lateral (
            select t.id, t.unique_held and t.runs = 0 as starts_unique
            from kinfolk.open_task t
            where t.queue_id = p_queue
                and t.lane = g.lane
                and t.command_id = g.command_id
                and (t.priority, t.position, t.id) > (g.priority, g.position, g.id)
            order by t.priority, t.position, t.id
            limit g.quota
            for update skip locked
        ) p
    )
    select array_agg(p.id), count(*), bool_or(p.starts_unique), coalesce(array_agg(p.id) filter (where p.lane = 'top'), '{}'),
        count(*) filter (where p.lane = 'child')
    into ids, many, starts_unique, tops, children
    from picked p;
end
$$;
