-- Asks for a task's end. Answers `now` (it was pending and is cancelled), `requested` (it runs; its worker is told), or
-- the state in which it had ended already; `not_found` when there is no such task. Locks the task.

create or replace function kinfolk.cancel(p_task bigint) returns text
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
    select t.state, t.queue_id, t.worker_id, t.unique_key is not null and t.runs = 0 as is_keyed
    into v_task
    from kinfolk.task t
    where t.id = p_task
    for update;
    if not found then
        return 'not_found';
    end if;
    v_now := kinfolk.clock();
    if v_task.state = 'pending' then
        if v_task.is_keyed then
            perform kinfolk.lay_in(p_task);
            insert into kinfolk.late (queue_id, task_id) values (v_task.queue_id, p_task);
        end if;
        update kinfolk.task t
        set
            state = 'cancelled',
            gate = null,
            finished_at = v_now,
            failure = kinfolk.failure_cancelled(),
            unique_held = t.unique_held and t.unique_scope = 'window'
        where t.id = p_task;
        return 'now';
    end if;
    if v_task.state = 'running' then
        update kinfolk.task t
        set cancel_requested_at = coalesce(t.cancel_requested_at, v_now)
        where t.id = p_task;
        perform pg_notify('kinfolk', 'c:' || v_task.worker_id);
        return 'requested';
    end if;
    return v_task.state;
end
$$;
