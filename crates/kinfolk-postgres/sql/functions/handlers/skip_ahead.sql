-- Lets the task of a queue that is due next run now, for a test that does not want to wait: `process_tasks` calls it when nothing
-- else is left. Answers whether there was one. Runs as its caller: only who may `run_now` moves the time of a task. Locks that task.

create or replace function kinfolk.skip_ahead(p_queue text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task bigint := kinfolk.due_next(p_queue);
begin
    if v_task is null then
        return false;
    end if;
    perform from kinfolk.run_now(v_task);
    return true;
end
$$;
