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
