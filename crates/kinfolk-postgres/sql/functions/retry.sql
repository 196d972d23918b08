-- Lets a failed or cancelled task run again with fresh attempts, at its old place, and answers it as it is then.
-- Errors: KF002 when there is no such task; KF003 (detail: its state) when it has not ended so, when it has children, when its
-- parent has ended, or when its parent's handler awaits it: then its family is retried as a whole.
-- Locks the family as a whole, then the task, then the fan-out it is counted in.

create or replace function kinfolk.retry(p_task bigint) returns setof kinfolk.tasks
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
    v_now timestamptz;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_family_of(p_task);
    select t.state, t.queue_id, t.root_id, t.parent_id, t.fan_out_id
    into v_task
    from kinfolk.task t
    where t.id = p_task
    for update;
    if not found then
        perform kinfolk.refuse('KF002', format('there is no task %s', p_task));
    elsif v_task.state not in ('failed', 'cancelled') then
        perform kinfolk.refuse('KF003', format('task %s is %s', p_task, v_task.state),
            'only failed and cancelled tasks can be retried', v_task.state::text);
    elsif exists (select from kinfolk.fan_out f where f.task_id = p_task)
        or exists (select from kinfolk.task p where p.id = v_task.parent_id and p.state >= 'completed')
        -- The handler that awaits it may have heard of its end.
        or v_task.fan_out_id <> v_task.parent_id
    then
        perform kinfolk.refuse('KF003', format('task %s is %s, and not alone', p_task, v_task.state),
            'retry its family instead', v_task.state::text);
    end if;
    v_now := kinfolk.clock();
    update kinfolk.task t
    set
        state = 'pending',
        gate = kinfolk.gate_in_family(coalesce(v_task.root_id, p_task), v_now, v_now),
        due = v_now,
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
    update kinfolk.fan_out f
    set
        failed = f.failed - (v_task.state = 'failed')::integer,
        cancelled = f.cancelled - (v_task.state = 'cancelled')::integer
    where f.id = v_task.fan_out_id;
    perform kinfolk.notify_queues(array[v_task.queue_id], false);
    return query select v.* from kinfolk.tasks v where v.id = p_task;
end
$$;
