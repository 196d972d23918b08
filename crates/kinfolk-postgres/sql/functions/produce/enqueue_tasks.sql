-- `enqueue_rows` for tasks that are in one value already, some with properties of their own: enqueues them under their numbers,
-- and wakes workers. Answers as it does. Locks nothing that exists.

create or replace function kinfolk.enqueue_tasks(p_tasks kinfolk.given_tasks)
returns table (nth integer, outcome text, id bigint, name text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_largest integer := kinfolk.require_payloads(p_tasks.ids, p_tasks.commands, p_tasks.payloads, kinfolk.enqueue_batch_max());
begin
    return query select g.* from kinfolk.enqueue_given(p_tasks, v_largest, false, kinfolk.clock()) g;
    perform kinfolk.notify_commands(p_tasks.commands, p_tasks.queues);
end
$$;
