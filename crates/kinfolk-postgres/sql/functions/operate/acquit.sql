-- Clears a suspect, and answers the task as it is then: it has no strikes, and if it waited on account of them it is open now. One
-- that is no suspect stays as it is. Errors: KF002 when there is no such task; KF003 (detail: its state) when it has ended.
-- Locks the task, by its number.

create or replace function kinfolk.acquit(p_task bigint) returns setof kinfolk.tasks
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
    select t.state, t.queue_id, t.suspect into v_task from kinfolk.task t where t.id = p_task for update;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_task.state >= 'completed' then
        raise exception using errcode = 'KF003', message = format('task %s is %s', p_task, v_task.state),
            hint = 'a task that has ended is no suspect; retry it to run it again', detail = v_task.state::text;
    elsif v_task.suspect then
        v_now := kinfolk.clock();
        update kinfolk.task t
        set
            suspect = false,
            strikes = 0,
            gate = case when t.gate = 'time' then 'open' else t.gate end,
            due = case when t.gate = 'time' then v_now else t.due end
        where t.id = p_task;
        perform kinfolk.notify_queues(array[v_task.queue_id], false);
    end if;
    return query select v.* from kinfolk.tasks v where v.id = p_task;
end
$$;
