-- The tasks with a reservation that this claim may start, behind a stand. Reads the rows of `reserved` of its groups, and these tasks by
-- their numbers.
create or replace function kinfolk.reserved_heads(
    p_scope kinfolk.claim_scope, p_lanes kinfolk.lane[], p_behind kinfolk.stand
) returns setof kinfolk.stand
language sql stable
as $$
    select t.priority, t.position, t.id
    from (select distinct r.task_id from kinfolk.reserved r where r.group_id = any (p_scope.groups)) r
    cross join lateral (
        select t.id, t.priority, t.position, t.queue_id, t.lane, t.command_id, t.gate
        from kinfolk.task t
        where t.id = r.task_id
        offset 0
    ) t
    join kinfolk.command c on c.id = t.command_id
    where t.queue_id = p_scope.queue_id
        and t.gate = 'limit'
        and t.lane = any (p_lanes)
        and c.name = any (p_scope.commands)
        and (t.priority, t.position, t.id) > (p_behind.priority, p_behind.position, p_behind.id)
$$;
