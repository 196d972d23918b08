-- Suspends the handler of a running task, in one transaction: writes its checkpoints, makes what it made since its last
-- suspension, begins the fan-outs that it awaits, and has the task wait without a worker until one of the things it waits for is
-- there. If one is there already, the task is pending at once. It costs no attempt. A stale or repeated call changes nothing; the
-- task is cancelled if its end is asked for; if something can't be made, nothing is, and the attempt has failed. The answer is
-- as that of `settle`.
--
-- Checkpoints: `p_branches` to `p_values`. What was made: `p_order`, `p_kinds`, `p_commands` to `p_traces`, `p_whens`, as in
-- `settle_made`; behind them, without a kind, stand the children of the fan-outs, `p_sizes` of each. Fan-outs: `p_fan_branches` to
-- `p_fan_wakes`. `p_awaits`, `p_wakes`: fan-outs begun before that are awaited still. `p_until`: when to resume at the latest.
-- `p_signals`: the names of the signals to resume for. `p_slot_keys`, `p_inherits`: as in `settle_made`.
--
-- Locks the family as a whole, so that no child ends meanwhile (shared, at the first suspension of a task, which has no children
-- yet); the keys of follow-ups; the task; then the fan-outs that grow or are awaited, and what `make_follow_up` locks. Reads
-- `fan_out_task` and the task's part of `signal`. Its plans are made once a session: planning took longer than all the rest.

create or replace function kinfolk.suspend(
    p_task bigint,
    p_token uuid,
    p_branches text[],
    p_names text[],
    p_occurrences integer[],
    p_step_kinds text[],
    p_digests text[],
    p_values jsonb[],
    p_order text,
    p_kinds text[],
    p_commands text[],
    p_payloads jsonb[],
    p_queues text[],
    p_priorities integer[],
    p_dues timestamptz[],
    p_delays_us bigint[],
    p_keys text[],
    p_scopes text[],
    p_windows_us bigint[],
    p_on_duplicates text[],
    p_max_attempts integer[],
    p_timeouts_us bigint[],
    p_traces text[],
    p_whens text[],
    p_sizes integer[],
    p_fan_branches text[],
    p_fan_names text[],
    p_fan_occurrences integer[],
    p_fan_digests text[],
    p_fan_rules text[],
    p_fan_parts integer[],
    p_fan_timeouts_us bigint[],
    p_fan_cancels boolean[],
    p_fan_wakes integer[],
    p_awaits bigint[],
    p_wakes integer[],
    p_until timestamptz,
    p_signals text[],
    p_slot_keys jsonb[] default '{}',
    p_inherits boolean[] default '{}'
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
    v_now timestamptz;
    v_task record;
    v_root record;
    v_items record;
    v_ids bigint[];
    v_numbers bigint[];
    v_many integer := cardinality(p_commands);
    v_fans integer := cardinality(p_sizes);
    v_largest integer;
    v_given kinfolk.made;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform kinfolk.require_read_committed();
    end if;
    if cardinality(p_dues) > 0 then
        perform kinfolk.require_dues(p_dues);
    end if;
    perform kinfolk.require_suspend(p_sizes, p_kinds, p_commands, p_keys, p_fan_rules, p_fan_parts, p_fan_timeouts_us,
        p_fan_cancels, p_fan_wakes, p_awaits, p_wakes, p_until, p_signals);
    if coalesce(cardinality(p_branches) + cardinality(p_names) + cardinality(p_occurrences) + cardinality(p_step_kinds)
        + cardinality(p_digests) + cardinality(p_values), 1) > 0
    then
        perform kinfolk.require_checkpoints(p_branches, p_names, p_occurrences, p_step_kinds, p_digests, p_values);
    end if;
    if v_fans > 0 then
        perform kinfolk.require_checkpoints(p_fan_branches, p_fan_names, p_fan_occurrences,
            array_fill('fan_out'::text, array[v_fans]), p_fan_digests, array_fill('0'::jsonb, array[v_fans]));
    end if;
    if v_many > 0 then
        if cardinality(p_slot_keys) > 0 then
            perform kinfolk.require_keys(p_slot_keys);
        end if;
        perform kinfolk.require_made(p_order, p_kinds, p_whens, '{}');
        v_largest := kinfolk.require_tasks(p_commands, p_commands, p_payloads, p_priorities, p_delays_us, p_keys, p_scopes,
            p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, kinfolk.made_max());
    end if;
    select r.id, r.place, least(q.depth_limit, kinfolk.depth_max()) as depth_limit, t.parked,
        case when t.parked then array[r.id] end as parked_in
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task;
    perform kinfolk.lock_families(array[v_root.id], v_root.parked);
    if cardinality(p_kinds) > 0 then
        perform kinfolk.lock_follow_up_keys(p_kinds, p_commands, p_keys);
    end if;

    -- point: suspend.begun
    select t.id, t.queue_id, t.parent_id, t.fan_out_id, t.depth, t.priority, t.keys, t.max_attempts,
        t.cancel_requested_at is not null as is_cancelled
    into v_task
    from kinfolk.task t
    where t.id = p_task
        and t.token = p_token
        and t.worker_id is not null
    for update;
    v_now := kinfolk.clock();
    -- point: suspend.locked
    if v_task.id is null or v_task.is_cancelled then
        return query
        select r.answer, r.state
        from kinfolk.settle_rest(row(array[p_task], array[p_token], array['cancelled'], '{}', '{}', '{}')::kinfolk.settles,
            '{}', v_now, array[v_root.id], v_root.parked_in) r;
        return;
    end if;
    if cardinality(p_awaits) > 0 then
        perform kinfolk.require_awaited(p_task, p_awaits);
    end if;
    if v_many > 0 then
        v_given := row(p_kinds, null, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us,
            p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens, p_slot_keys, p_inherits,
            null, null, null, null);
        select r.*
        into v_items
        from kinfolk.resolve_made(v_given, v_task.parent_id, v_task.fan_out_id, v_task.depth, v_root.depth_limit, v_task.keys,
            v_task.max_attempts) r;
        if v_items.refused is not null then
            return query
            select r.answer, r.state
            from kinfolk.settle_refused(p_task, p_token, coalesce(p_kinds[v_items.refused], 'awaited'),
                p_commands[v_items.refused], p_queues[v_items.refused], p_slot_keys[v_items.refused], v_root.id,
                v_root.parked_in, v_now) r;
            return;
        end if;
        -- In the order of making, the fan-outs before their children.
        v_ids := array(select nextval('kinfolk.task_id') from generate_series(1, v_many + v_fans));
        v_numbers := v_ids[cardinality(p_kinds) + 1:cardinality(p_kinds) + v_fans];
        v_ids := v_ids[:cardinality(p_kinds)] || v_ids[cardinality(p_kinds) + v_fans + 1:];
        v_given := v_items.made;
        v_given.ids := v_ids;
    end if;
    if cardinality(p_names) + v_fans > 0 then
        perform kinfolk.write_checkpoints(
            array_fill(p_task, array[cardinality(p_names) + v_fans]), p_branches || p_fan_branches, p_names || p_fan_names,
            p_occurrences || p_fan_occurrences, p_step_kinds || array_fill('fan_out'::text, array[v_fans]),
            p_digests || p_fan_digests, p_values || array(select to_jsonb(n) from unnest(v_numbers) n));
    end if;
    if v_root.parked then
        perform kinfolk.await_again(p_task, p_awaits, p_wakes);
    end if;
    if cardinality(p_kinds) > 0 then
        perform kinfolk.make_all(p_task, v_root.id, v_root.place, false, p_order, v_given, v_now);
    end if;
    if v_fans > 0 then
        insert into kinfolk.fan_out
            (id, task_id, root_id, depth, child_order, waits, total, rule, parts, wake_at, deadline, cancel_on_failure, created_at)
        select g.id, p_task, v_root.id, v_task.depth, 'together', false, g.size, g.rule, g.parts, g.wake_at,
            v_now + g.timeout_us * interval '1 microsecond', g.cancels, v_now
        from unnest(v_numbers, p_sizes, p_fan_rules, p_fan_parts, p_fan_wakes, p_fan_timeouts_us, p_fan_cancels)
            as g(id, size, rule, parts, wake_at, timeout_us, cancels);
        perform kinfolk.make_awaited(
            row(p_task, v_root.id, v_task.depth, v_task.priority, v_root.place, v_now)::kinfolk.maker,
            cardinality(p_kinds), v_numbers, p_sizes, v_given, v_largest);
    end if;

    -- point: suspend.written
    if v_many > 0 then
        if v_items.keys is not null then
            perform kinfolk.give_keys(v_ids, v_items.keys);
        end if;
        perform kinfolk.notify_queues(v_items.notify, false);
    end if;
    return query
    select 'recorded', kinfolk.park(p_task, p_awaits || v_numbers, p_until, p_signals, v_now)::text;
end
$$;
