-- How the children of a task, and its whole family, are doing. KF002 when there is no such task.

create or replace function kinfolk.require_task(p_task bigint) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (select from kinfolk.task t where t.id = p_task) then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    end if;
end
$$;

-- The children of a task by fan-out, in the order in which they were made, from this one on. Reads `task_fan_out`.
create or replace function kinfolk.children(p_task bigint, p_from bigint, p_limit integer) returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_limit integer := least(greatest(p_limit, 0), kinfolk.page_max());
begin
    perform kinfolk.require_task(p_task);
    return query
    select v.*
    from (
        select c.id, c.fan_out_id, c.nth
        from (
            select f.id, p_from - (sum(f.total) over (order by f.id) - f.total) as first
            from kinfolk.fan_out f
            where f.task_id = p_task
        ) f
        cross join lateral (
            select c.id, c.fan_out_id, c.nth
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.nth >= least(f.first, 2147483647)
            order by c.nth
            limit v_limit
        ) c
        order by c.fan_out_id, c.nth
        limit v_limit
    ) page
    -- One by one: as a plain join, all tasks would be made ready to be shown, and then those of the page be looked for among them.
    cross join lateral (select v.* from kinfolk.tasks v where v.id = page.id offset 0) v
    order by page.fan_out_id, page.nth;
end
$$;

-- How many children a task has, and how many of them have ended in which way.
create or replace function kinfolk.tally(
    p_task bigint, out total bigint, out completed bigint, out failed bigint, out cancelled bigint
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.require_task(p_task);
    select coalesce(sum(f.total), 0), coalesce(sum(f.completed), 0), coalesce(sum(f.failed), 0), coalesce(sum(f.cancelled), 0)
    into total, completed, failed, cancelled
    from kinfolk.fan_out f
    where f.task_id = p_task;
end
$$;

-- How the family of a task is doing, by generation: 1 is the root's children. Reads the family's fan-outs, not its tasks.
create or replace function kinfolk.progress(p_task bigint)
returns table (generation integer, total bigint, completed bigint, failed bigint, cancelled bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.require_task(p_task);
    return query
    select f.depth + 1, sum(f.total), sum(f.completed), sum(f.failed), sum(f.cancelled)
    from kinfolk.task t
    join kinfolk.fan_out f on f.root_id = coalesce(t.root_id, t.id)
    where t.id = p_task
    group by f.depth
    order by f.depth;
end
$$;
