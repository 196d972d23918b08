-- Suspends the handler of a running task, in one transaction: writes its checkpoints, makes its tasks since the last
-- suspension, begins the fan-outs that it awaits, and makes the task wait without a worker. The task is pending at once if an
-- awaited thing is there already. A suspension costs no attempt. A stale or repeated call changes nothing. If the end of the
-- task is asked for, it is cancelled. If one task can't be made, none is, and the attempt has failed. The answer is that of
-- `settle`.
--
-- `p_made`: the tasks with kinds, as in `settle_made`, and behind them, without a kind, the children of the fan-outs; `p_order`:
-- how those of the kind `child` run. Their numbers are taken here. An argument that is left out means none.
--
-- Locks the family exclusively, so that no child ends meanwhile (shared at the first suspension of a task, which has no
-- children yet); the keys of follow-ups; the task; then the fan-outs that grow or are awaited, and what `make_follow_up`
-- locks. Reads `fan_out_task` and the task's part of `signal`. Its plans are made once a session: planning took longer than
-- all the rest.

create or replace function kinfolk.suspend(
    p_task bigint,
    p_token uuid,
    p_awaits kinfolk.awaits,
    p_steps kinfolk.checkpoints default row('{}', '{}', '{}', '{}', '{}', '{}'),
    p_made kinfolk.given_tasks default row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{}', '{}', '{}'),
    p_order text default 'together',
    p_fans kinfolk.begun_fan_outs default row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
) returns table (answer text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_maker kinfolk.maker;
    v_largest integer;
    v_made kinfolk.made;
    v_numbers bigint[];
begin
    perform kinfolk.require_awaits(p_fans, p_awaits);
    perform kinfolk.require_suspend(p_steps, p_fans, p_made);
    if cardinality(p_made.commands) > 0 then
        v_largest := kinfolk.require_made(p_made, p_order, p_made.commands);
    end if;
    v_maker := kinfolk.lock_makers_family(p_task, p_token, p_made);

    -- point: suspend.begun
    v_maker := kinfolk.lock_makers_task(v_maker);
    -- point: suspend.locked
    if not v_maker.is_running or v_maker.is_cancelled then
        return query select r.answer, r.state from kinfolk.settle_maker(v_maker, 'cancelled', null, null) r;
        return;
    end if;
    if cardinality(p_awaits.fan_outs) > 0 then
        perform kinfolk.require_awaited(p_task, p_awaits.fan_outs);
    end if;
    if cardinality(p_made.commands) > 0 then
        v_made := kinfolk.resolve_made(p_made, v_largest, v_maker);
    end if;
    if v_made.refused is not null then
        return query select r.answer, r.state from kinfolk.settle_refused(v_maker, v_made) r;
        return;
    end if;
    v_numbers := kinfolk.write_suspended(v_maker, p_steps, v_made, p_order, p_fans, p_awaits);

    -- point: suspend.written
    if v_made.notify is not null then
        perform kinfolk.notify_queues(v_made.notify, false);
    end if;
    return query
    select 'recorded', kinfolk.suspend_task(p_task, p_awaits.fan_outs || v_numbers, p_awaits.until, p_awaits.signals, v_maker.now)::text;
end
$$;
