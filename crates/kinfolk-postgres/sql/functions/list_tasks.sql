-- A page of tasks, newest first; null is any. Planned for the filters given: by `task_unique` for a key, by number else.

create or replace function kinfolk.list_tasks(
    p_states text[], p_command text, p_queue text, p_unique_key text, p_before bigint, p_limit integer
) returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_command integer;
    v_queue integer;
begin
    select c.id into v_command from kinfolk.command c where c.name = p_command;
    select q.id into v_queue from kinfolk.queue q where q.name = p_queue;
    if (v_command is null and p_command is not null) or (v_queue is null and p_queue is not null) then
        return;
    end if;
    return query
    select v.*
    from (
        select t.id
        from kinfolk.task t
        where (p_states is null or t.state = any (p_states::kinfolk.state[]))
            and (v_command is null or t.command_id = v_command)
            and (v_queue is null or t.queue_id = v_queue)
            and (p_unique_key is null or t.unique_key = p_unique_key)
            and (p_before is null or t.id < p_before)
        order by t.id desc
        limit least(greatest(p_limit, 1), kinfolk.page_max() + 1)
    ) page
    join kinfolk.tasks v on v.id = page.id
    order by v.id desc;
end
$$;
