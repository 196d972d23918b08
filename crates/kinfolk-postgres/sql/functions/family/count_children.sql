-- The number of open children of a task, of its failed spawned children, and of all its spawned children. One row. Awaited
-- children are for the handler to judge. Reads `fan_out_task`. Has no settings of its own, so that the planner inlines it.

create or replace function kinfolk.count_children(p_task bigint) returns table (open bigint, failed bigint, total bigint)
language sql stable
as $$
    select coalesce(sum(f.total - f.completed - f.failed - f.cancelled), 0),
        coalesce(sum(f.failed) filter (where f.rule is null), 0), sum(f.total) filter (where f.rule is null)
    from kinfolk.fan_out f
    where f.task_id = p_task
$$;
