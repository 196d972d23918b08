-- Suspends the handler of a running task, in one transaction: writes its checkpoints, makes its tasks since the last
-- suspension, begins the fan-outs that it awaits, and makes the task wait without a worker. The task is pending at once if an
-- awaited thing is there already. A suspension costs no attempt. A stale or repeated call changes nothing. If the end of the
-- task is asked for, it is cancelled. If one task can't be made, none is, and the attempt has failed. The answer is that of
-- `settle`.
--
-- Checkpoints: `p_branches` to `p_values`. Made tasks: `p_order`, `p_kinds`, `p_commands` to `p_traces`, `p_whens`, as in
-- `settle_made`; behind them, without a kind, the children of the fan-outs, `p_sizes` of each. Fan-outs: `p_fan_branches` to
-- `p_fan_wakes`. `p_awaits`, `p_wakes`: earlier fan-outs that are still awaited. `p_until`: the latest moment to resume.
-- `p_signals`: the names of the signals to resume for. `p_slot_keys`, `p_inherits`: as in `settle_made`.
--
-- Locks the family exclusively, so that no child ends meanwhile (shared at the first suspension of a task, which has no
-- children yet); the keys of follow-ups; the task; then the fan-outs that grow or are awaited, and what `make_follow_up`
-- locks. Reads `fan_out_task` and the task's part of `signal`. Its plans are made once a session: planning took longer than
-- all the rest.

create or replace function kinfolk.suspend(
    p_task bigint, p_token uuid, p_branches text[], p_names text[], p_occurrences integer[], p_step_kinds text[], p_digests text[],
    p_values jsonb[], p_order text, p_kinds text[], p_commands text[], p_payloads jsonb[], p_queues text[], p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[], p_whens text[], p_sizes integer[], p_fan_branches text[],
    p_fan_names text[], p_fan_occurrences integer[], p_fan_digests text[], p_fan_rules text[], p_fan_parts integer[],
    p_fan_timeouts_us bigint[], p_fan_cancels boolean[], p_fan_wakes integer[], p_awaits bigint[], p_wakes integer[],
    p_until timestamptz, p_signals text[], p_slot_keys jsonb[] default '{}', p_inherits boolean[] default '{}'
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
    v_steps kinfolk.checkpoints := row(p_branches, p_names, p_occurrences, p_step_kinds, p_digests, p_values);
    v_made kinfolk.made := row(p_kinds, '{}'::bigint[], p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us, p_keys,
        p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens, p_slot_keys, p_inherits,
        null, null, null, null, null, null, null, null);
    v_fans kinfolk.begun_fan_outs := row(null, p_sizes, p_fan_branches, p_fan_names, p_fan_occurrences, p_fan_digests, p_fan_rules,
        p_fan_parts, p_fan_timeouts_us, p_fan_cancels, p_fan_wakes);
    v_numbers bigint[];
begin
    perform kinfolk.require_awaits(v_fans, p_awaits, p_wakes, p_until, p_signals);
    perform kinfolk.require_suspend(v_steps, v_fans, p_kinds, p_commands, p_keys);
    if cardinality(p_commands) > 0 then
        v_made.largest := kinfolk.require_made(v_made, p_order, p_commands);
    end if;
    v_maker := kinfolk.lock_maker(p_task, p_token, p_kinds, p_commands, p_keys);

    -- point: suspend.begun
    v_maker := kinfolk.hold_maker(v_maker);
    -- point: suspend.locked
    if not v_maker.is_held or v_maker.is_cancelled then
        return query select r.answer, r.state from kinfolk.settle_maker(v_maker, 'cancelled', null, null) r;
        return;
    end if;
    if cardinality(p_awaits) > 0 then
        perform kinfolk.require_awaited(p_task, p_awaits);
    end if;
    if cardinality(p_commands) > 0 then
        v_made := kinfolk.resolve_made(v_made, v_maker);
    end if;
    if v_made.refused is not null then
        return query select r.answer, r.state from kinfolk.settle_refused(v_maker, v_made) r;
        return;
    end if;
    v_numbers := kinfolk.write_suspended(v_maker, v_steps, v_made, p_order, v_fans, p_awaits, p_wakes);

    -- point: suspend.written
    if v_made.notify is not null then
        perform kinfolk.notify_queues(v_made.notify, false);
    end if;
    return query select 'recorded', kinfolk.suspend_task(p_task, p_awaits || v_numbers, p_until, p_signals, v_maker.now)::text;
end
$$;
