-- How many children of a task are open; and of those that it spawned, how many have failed, and how many there are. One row.
-- Children that its handler awaits are for that to judge. Reads `fan_out_task`. Without settings of its own, so that it is planned
-- as a part of the query that asks.

create or replace function kinfolk.count_children(p_task bigint) returns table (open bigint, failed bigint, total bigint)
language sql stable
as $$
    select coalesce(sum(f.total - f.completed - f.failed - f.cancelled), 0),
        coalesce(sum(f.failed) filter (where f.rule is null), 0), sum(f.total) filter (where f.rule is null)
    from kinfolk.fan_out f
    where f.task_id = p_task
$$;
