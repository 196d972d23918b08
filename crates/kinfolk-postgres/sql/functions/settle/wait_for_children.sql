-- Ends the attempt of a task, which the caller has locked, whose own work is done and whose children are open.
create or replace function kinfolk.wait_for_children(p_task bigint, p_result jsonb, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending)
    select t.id, t.runs, t.attempt, t.started_at, p_now, t.worker_id, 'completed'
    from kinfolk.task t
    where t.id = p_task
        and t.runs > 1;
    update kinfolk.task t
    set
        state = 'waiting',
        outcome = 'completed',
        worker_id = null,
        result = p_result,
        failure = null,
        suspect = false,
        strikes = 0,
        slot = false
    where t.id = p_task;
end
$$;
