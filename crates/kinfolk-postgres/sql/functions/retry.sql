-- Lets a failed or cancelled task run again with fresh attempts, at its old place, and answers it as it is then.
-- Errors: KF002 when there is no such task; KF003 (detail: its state) when it has not ended so. Locks the task.

create or replace function kinfolk.retry(p_task bigint) returns setof kinfolk.tasks
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
begin
    perform kinfolk.require_read_committed();
    select t.state, t.queue_id into v_task from kinfolk.task t where t.id = p_task for update;
    if not found then
        perform kinfolk.refuse('KF002', format('there is no task %s', p_task));
    elsif v_task.state not in ('failed', 'cancelled') then
        perform kinfolk.refuse('KF003', format('task %s is %s', p_task, v_task.state),
            'only failed and cancelled tasks can be retried', v_task.state::text);
    end if;
    update kinfolk.task t
    set
        state = 'pending',
        gate = 'open',
        due = kinfolk.clock(),
        attempt = 0,
        suspect = false,
        strikes = 0,
        started_at = null,
        finished_at = null,
        cancel_requested_at = null,
        token = null,
        result = null,
        failure = null
    where t.id = p_task;
    perform kinfolk.notify_queues(array[v_task.queue_id], false);
    return query select v.* from kinfolk.tasks v where v.id = p_task;
end
$$;
