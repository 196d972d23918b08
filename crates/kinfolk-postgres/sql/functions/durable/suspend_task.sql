-- Makes a running task, which the caller has locked, wait for these fan-outs, this moment and these signals. Returns its new
-- state: `pending` if one of them is there already.
create or replace function kinfolk.suspend_task(p_task bigint, p_awaits bigint[], p_until timestamptz, p_signals text[], p_now timestamptz)
returns kinfolk.state
language plpgsql volatile
as $$
declare
    v_timer timestamptz;
    v_is_there boolean;
    v_task record;
begin
    -- And whether the task, as it was before, gives a family slot up that others wait for.
    select a.is_there, a.deadline, t.queue_id, t.child_slot, t.holds_slots
    into v_task
    from kinfolk.task t
    cross join lateral (
        select coalesce(bool_or(f.verdict is not null or f.completed + f.failed + f.cancelled >= f.wake_at), false) as is_there,
            min(f.deadline) filter (where f.verdict is null) as deadline
        from unnest(p_awaits) as g(id)
        cross join lateral (
            select f.verdict, f.completed, f.failed, f.cancelled, f.wake_at, f.deadline
            from kinfolk.fan_out f
            where f.id = g.id
            offset 0
        ) f
    ) a
    where t.id = p_task;
    v_timer := least(p_until, v_task.deadline);
    v_is_there := v_task.is_there or coalesce(v_timer <= p_now, false);
    if cardinality(p_signals) > 0 and not v_is_there then
        v_is_there := exists (select from kinfolk.signal s where s.task_id = p_task and s.name = any (p_signals));
    end if;
    insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending, awaited, until, signals)
    select t.id, t.runs, t.attempt, t.started_at, p_now, t.worker_id, 'suspended', p_awaits, p_until, p_signals
    from kinfolk.task t
    where t.id = p_task;
    update kinfolk.task t
    set
        state = case when v_is_there then 'pending'::kinfolk.state else 'waiting'::kinfolk.state end,
        gate = case when v_is_there then 'open'::kinfolk.gate when v_timer is not null then 'time'::kinfolk.gate end,
        due = case when v_is_there then t.due else coalesce(v_timer, t.due) end,
        signals = case when not v_is_there and cardinality(p_signals) > 0 then p_signals end,
        was_suspended = true,
        worker_id = null,
        attempt = greatest(t.attempt - 1, 0),
        suspect = false,
        strikes = 0,
        child_slot = false,
        ran_us = coalesce(t.ran_us, 0) + greatest(kinfolk.micros(p_now - t.started_at), 0)
    where t.id = p_task;
    if v_task.holds_slots then
        perform kinfolk.release_slots(array[p_task]);
    end if;
    if v_is_there or v_task.child_slot or v_timer is not null then
        perform kinfolk.notify_queues(array[v_task.queue_id], false);
    end if;
    return case when v_is_there then 'pending' else 'waiting' end;
end
$$;
