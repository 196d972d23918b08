-- Lets a failed or cancelled task run again with fresh attempts, at its old position, and what failed or was cancelled below it;
-- answers it as it is then. A task whose own work was done waits for its children again. A follow-up that was skipped because a
-- family did not complete comes back when the root of that family is retried.
-- Errors: KF002 when there is no such task; KF003 (detail: its state) when it has not ended so, when its parent has ended,
-- or when its parent's handler awaits it: then its family is retried as a whole.
-- Locks the family as a whole, then its follow-ups, then the task, then what `revive` locks, then the fan-out it is counted in.

create or replace function kinfolk.retry(p_task bigint) returns setof kinfolk.tasks
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
    v_now timestamptz;
    v_gate kinfolk.gate;
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_family_of(p_task);
    perform kinfolk.lock_follow_ups(array[p_task]);
    select t.state, t.root_id, t.parent_id, t.fan_out_id, q.family_limit is not null as is_limited
    into v_task
    from kinfolk.task t
    join kinfolk.queue q on q.id = t.queue_id
    where t.id = p_task
    for update of t;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_task.state not in ('failed', 'cancelled') then
        raise exception using errcode = 'KF003', message = format('task %s is %s', p_task, v_task.state),
            hint = 'only failed and cancelled tasks can be retried', detail = v_task.state::text;
    elsif exists (select from kinfolk.task p where p.id = v_task.parent_id and p.state >= 'completed')
        -- The handler that awaits it may have heard of its end.
        or v_task.fan_out_id <> v_task.parent_id
    then
        raise exception using errcode = 'KF003', message = format('task %s is %s, and not alone', p_task, v_task.state),
            hint = 'retry its family instead', detail = v_task.state::text;
    end if;
    v_now := kinfolk.clock();
    v_gate := kinfolk.gate_in_family(coalesce(v_task.root_id, p_task), v_now, v_now);
    perform from kinfolk.revive(p_task, v_gate,
        case when v_task.parent_id is null and v_task.is_limited then 'family' else v_gate end, v_now);
    update kinfolk.fan_out f
    set
        failed = f.failed - (v_task.state = 'failed')::integer,
        cancelled = f.cancelled - (v_task.state = 'cancelled')::integer
    where f.id = v_task.fan_out_id;
    return query select v.* from kinfolk.tasks v where v.id = p_task;
end
$$;
