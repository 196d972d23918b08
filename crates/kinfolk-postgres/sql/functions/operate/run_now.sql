-- Lets a pending task that is not due run now, and answers it as it is then: the next claim opens it. Nothing changes for one
-- that is due already. Errors: KF002 when there is no such task; KF003 (detail: its state) when it does not pend.
-- Locks the task, and nothing after it.

create or replace function kinfolk.run_now(p_task bigint) returns setof kinfolk.tasks
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
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null', hint = 'give the number of a task';
    end if;
    select t.state, t.queue_id into v_task from kinfolk.task t where t.id = p_task for update;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_task.state <> 'pending' then
        raise exception using errcode = 'KF003', message = format('task %s is %s', p_task, v_task.state),
            hint = 'only a pending task can be told to run now', detail = v_task.state::text;
    end if;
    -- point: run_now.locked
    v_now := kinfolk.clock();
    update kinfolk.task t
    set
        due = v_now,
        position = least(t.position, v_now)
    where t.id = p_task
        and t.gate = 'time'
        and t.due > v_now;
    if found then
        perform kinfolk.notify_queues(array[v_task.queue_id], false);
    end if;
    return query select v.* from kinfolk.tasks v where v.id = p_task;
end
$$;
