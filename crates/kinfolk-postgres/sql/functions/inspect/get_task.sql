-- One task as it is shown. In plpgsql, which keeps its plan: whoever waits for a task asks again and again.

create or replace function kinfolk.get_task(p_id bigint) returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
    return query select t.* from kinfolk.tasks t where t.id = p_id;
end
$$;
