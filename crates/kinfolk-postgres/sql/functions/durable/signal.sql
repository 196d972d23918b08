-- Sends a signal to a task. Returns `resumed` if its suspended handler waits for that name, otherwise `kept`. Errors: KF002
-- when there is no such task; KF003 when it has ended; KF008 when it has too many kept signals.
--
-- Locks the task, and waits for nothing after that: of a signal and a suspension the second sees the first.

create or replace function kinfolk.signal(p_task bigint, p_name text, p_value jsonb) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
    v_kept bigint;
    v_bytes bigint := kinfolk.json_bytes(p_value);
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.require_name('signal', p_name);
    if p_value is null then
        raise exception using errcode = 'KF001', message = 'a signal has no value',
            hint = 'send null as JSON when there is nothing to say';
    elsif v_bytes > kinfolk.payload_bytes_max() then
        raise exception using errcode = 'KF006',
            message = format('the signal is %s bytes, more than %s', v_bytes, kinfolk.payload_bytes_max()),
            hint = 'keep the data elsewhere and send a reference', detail = v_bytes::text;
    end if;
    -- point: signal.begun
    select t.state, t.queue_id, t.state = 'waiting' and t.outcome is null and p_name = any (t.signals) as is_awaited
    into v_task
    from kinfolk.task t
    where t.id = p_task
    for update;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_task.state >= 'completed' then
        raise exception using errcode = 'KF003', message = format('task %s is %s', p_task, v_task.state),
            hint = 'a task that has ended gets no signals', detail = v_task.state::text;
    end if;
    -- point: signal.locked
    select count(*) into v_kept from kinfolk.signal s where s.task_id = p_task;
    if v_kept >= kinfolk.signals_kept_max() then
        raise exception using errcode = 'KF008', message = 'signals kept for one task',
            hint = format('its handler must take some of the %s that are kept', v_kept), detail = (v_kept + 1)::text;
    end if;
    insert into kinfolk.signal (task_id, name, value) values (p_task, p_name, p_value);
    if not coalesce(v_task.is_awaited, false) then
        return 'kept';
    end if;
    update kinfolk.task t
    set
        state = 'pending',
        gate = 'open',
        due = case when t.gate = 'time' then kinfolk.clock() else t.due end,
        signals = null
    where t.id = p_task;
    perform kinfolk.notify_queues(array[v_task.queue_id], false);
    return 'resumed';
end
$$;
