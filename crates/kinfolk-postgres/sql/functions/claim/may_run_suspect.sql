-- Whether a claim of this worker may take a suspect: it runs none, and no other claim or heartbeat of it is at work right now. Locks the
-- worker's row, never waiting. Reads `task_running`.
create or replace function kinfolk.may_run_suspect(p_worker uuid) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Two claims of one worker must not take a suspect each.
    perform from kinfolk.worker w where w.id = p_worker for no key update skip locked;
    return found and not exists (
        select
        from kinfolk.task t
        where t.worker_id = p_worker
            and t.state = 'running'
            and t.suspect);
end
$$;
