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
        from kinfolk.settle_rest(array[p_task], array[p_token], array['cancelled'], '{}', '{}', '{}', '{}', v_now,
            array[v_root.id], v_root.parked_in, null, null) r;
        return;
    end if;
    if cardinality(p_awaits) > 0 then
        perform kinfolk.require_awaited(p_task, p_awaits);
    end if;
    if v_many > 0 then
        select r.*
        into v_items
        from kinfolk.resolve_made(v_task.parent_id, v_task.fan_out_id, v_task.depth, v_root.depth_limit, p_kinds, p_commands,
            p_queues, p_max_attempts, p_timeouts_us, p_slot_keys, p_inherits, v_task.keys, v_task.max_attempts) r;
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
        perform kinfolk.make_all(p_task, v_root.id, v_root.place, false, p_order, p_kinds, v_ids, v_items.commands,
            v_items.queues, v_items.max_attempts, v_items.timeouts_us, p_commands, p_payloads, p_queues, p_priorities, p_dues,
            p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens,
            v_now);
    end if;
    if v_fans > 0 then
        insert into kinfolk.fan_out
            (id, task_id, root_id, depth, child_order, waits, total, rule, parts, wake_at, deadline, cancel_on_failure, created_at)
        select g.id, p_task, v_root.id, v_task.depth, 'together', false, g.size, g.rule, g.parts, g.wake_at,
            v_now + g.timeout_us * interval '1 microsecond', g.cancels, v_now
        from unnest(v_numbers, p_sizes, p_fan_rules, p_fan_parts, p_fan_wakes, p_fan_timeouts_us, p_fan_cancels)
            as g(id, size, rule, parts, wake_at, timeout_us, cancels);
        perform kinfolk.make_awaited(p_task, v_root.id, v_task.depth + 1, v_task.priority, v_root.place, v_now,
            cardinality(p_kinds), v_numbers, p_sizes, v_ids, v_items.commands, v_items.queues, p_payloads, v_largest,
            p_priorities, p_dues, p_delays_us, v_items.max_attempts, v_items.timeouts_us, p_traces);
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

-- Lets a running task, which the caller has locked, wait for these fan-outs, this moment and these signals, and says where it
-- went: it is pending if something of it is there already.
create or replace function kinfolk.park(
    p_task bigint, p_awaits bigint[], p_until timestamptz, p_signals text[], p_now timestamptz
) returns kinfolk.state
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_timer timestamptz;
    v_is_there boolean;
    v_task record;
begin
    -- And whether the task, as it was before, gives a place up that others wait for.
    select a.is_there, a.deadline, t.queue_id, t.slot, t.keyed
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
        v_is_there := exists (
            select
            from kinfolk.signal s
            where s.task_id = p_task
                and s.name = any (p_signals));
    end if;
    insert into kinfolk.attempt
        (task_id, run, attempt, started_at, ended_at, worker_id, ending, awaited, until, signals)
    select t.id, t.runs, t.attempt, t.started_at, p_now, t.worker_id, 'suspended', p_awaits, p_until, p_signals
    from kinfolk.task t
    where t.id = p_task;
    update kinfolk.task t
    set
        state = case when v_is_there then 'pending'::kinfolk.state else 'waiting'::kinfolk.state end,
        gate = case when v_is_there then 'open'::kinfolk.gate when v_timer is not null then 'time'::kinfolk.gate end,
        due = case when v_is_there then t.due else coalesce(v_timer, t.due) end,
        signals = case when not v_is_there and cardinality(p_signals) > 0 then p_signals end,
        parked = true,
        worker_id = null,
        attempt = greatest(t.attempt - 1, 0),
        suspect = false,
        strikes = 0,
        slot = false,
        ran_us = coalesce(t.ran_us, 0) + greatest(kinfolk.micros(p_now - t.started_at), 0)
    where t.id = p_task;
    if v_task.keyed then
        perform kinfolk.release_slots(array[p_task]);
    end if;
    if v_is_there or v_task.slot or v_timer is not null then
        perform kinfolk.notify_queues(array[v_task.queue_id], false);
    end if;
    return case when v_is_there then 'pending' else 'waiting' end;
end
$$;

-- Has a task await those of its fan-outs again that are given, each up to so many ended children, and no other. The caller has
-- locked the family whole.
create or replace function kinfolk.await_again(p_task bigint, p_awaits bigint[], p_wakes integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.fan_out f
    set wake_at = null
    where f.task_id = p_task
        and f.wake_at is not null
        and f.id <> all (p_awaits);
    update kinfolk.fan_out f
    set wake_at = g.wake_at
    from unnest(p_awaits, p_wakes) as g(id, wake_at)
    where f.id = g.id
        and f.wake_at is distinct from g.wake_at;
end
$$;

-- Makes the children of fan-outs that are awaited, so many of each, all by one statement: those behind the first `p_before` of
-- what is given as one array a property. `p_largest`: how large the largest payload is in memory.
create or replace function kinfolk.make_awaited(
    p_parent bigint, p_root bigint, p_depth integer, p_priority integer, p_place timestamptz, p_now timestamptz,
    p_before integer, p_fan_outs bigint[], p_sizes integer[],
    p_ids bigint[], p_commands integer[], p_queues integer[], p_payloads jsonb[], p_largest integer, p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[]
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_of bigint[];
    v_nths integer[];
begin
    if cardinality(p_fan_outs) = 1 then
        v_of := array_fill(null::bigint, array[p_before]) || array_fill(p_fan_outs[1], p_sizes);
        v_nths := array_fill(null::integer, array[p_before]) || array(select generate_series(0, p_sizes[1] - 1));
    else
        select array_fill(null::bigint, array[p_before]) || array_agg(f.id order by f.place, n),
            array_fill(null::integer, array[p_before]) || array_agg(n order by f.place, n)
        into v_of, v_nths
        from unnest(p_fan_outs, p_sizes) with ordinality as f(id, size, place)
        cross join lateral generate_series(0, f.size - 1) n;
    end if;
    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, trace, payload,
        parent_id, root_id, fan_out_id, nth, depth, lane)
    select
        g.id, g.queue_id, g.command_id, 'pending',
        case
            when coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now) > p_now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_priority), g.max_attempts, p_place,
        coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now),
        p_now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end,
        p_parent, p_root, g.fan_out_id, g.nth, p_depth, 'child'
    -- Not unnested as a table, which would be put down, array by array, before it is read.
    from (
        select unnest(p_ids) as id, unnest(v_of) as fan_out_id, unnest(v_nths) as nth, unnest(p_commands) as command_id,
            unnest(p_queues) as queue_id, unnest(p_payloads) as payload, unnest(p_priorities) as priority,
            unnest(p_dues) as due, unnest(p_delays_us) as delay_us, unnest(p_max_attempts) as max_attempts,
            unnest(p_timeouts_us) as timeout_us, unnest(p_traces) as trace
    ) g
    where g.fan_out_id is not null;
    if p_largest > 256 then
        insert into kinfolk.body (task_id, payload)
        select g.id, g.payload
        from unnest(p_ids, v_of, p_payloads) as g(id, fan_out_id, payload)
        where g.fan_out_id is not null
            and pg_column_size(g.payload) > 256;
    end if;
end
$$;

-- Refuses a whole suspension if it is one that no store would keep: nobody would ever resume it.
create or replace function kinfolk.require_suspend(
    p_sizes integer[], p_kinds text[], p_commands text[], p_keys text[], p_rules text[], p_parts integer[],
    p_timeouts_us bigint[], p_cancels boolean[], p_fan_wakes integer[], p_awaits bigint[], p_wakes integer[],
    p_until timestamptz, p_signals text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fans integer := cardinality(p_sizes);
    v_children bigint := (select coalesce(sum(s), 0) from unnest(p_sizes) s);
begin
    if not (kinfolk.is_full(p_sizes, v_fans) and kinfolk.is_full(p_rules, v_fans) and kinfolk.is_full(p_cancels, v_fans)
        and kinfolk.is_full(p_fan_wakes, v_fans) and kinfolk.is_full(p_awaits, cardinality(p_awaits))
        and kinfolk.is_full(p_wakes, cardinality(p_awaits)) and kinfolk.is_full(p_signals, cardinality(p_signals))
        and kinfolk.is_full(p_kinds, cardinality(p_kinds)) and kinfolk.is_full(p_commands, cardinality(p_commands))
        and coalesce(cardinality(p_parts) <= v_fans and cardinality(p_timeouts_us) <= v_fans, false))
    then
        raise exception using errcode = 'KF001',
            message = 'what a suspension is given as arrays must be as many, and all there';
    elsif v_fans + cardinality(p_awaits) + cardinality(p_signals) = 0 and p_until is null then
        raise exception using errcode = 'KF001', message = 'a suspended task must wait for something';
    elsif not isfinite(p_until) then
        raise exception using errcode = 'KF001', message = 'a timer must end some day',
            hint = 'leave it out to wait for good';
    elsif cardinality(p_signals) > kinfolk.signals_awaited_max() then
        raise exception using errcode = 'KF001', message = format('%s signals awaited at once', cardinality(p_signals)),
            hint = format('await at most %s', kinfolk.signals_awaited_max());
    elsif 1 > any (p_sizes) then
        raise exception using errcode = 'KF001', message = 'a fan-out without children has nothing to wait for';
    elsif cardinality(p_kinds) + v_children <> cardinality(p_commands) then
        raise exception using errcode = 'KF001', message = 'there must be as many tasks as kinds and children of fan-outs';
    elsif cardinality(p_keys) > 0 and exists (select from unnest(p_keys[cardinality(p_kinds) + 1:]) k where k is not null) then
        raise exception using errcode = 'KF001', message = 'a child whose result is awaited can''t have a unique key';
    end if;
    if v_fans > 0 and exists (
        select
        from unnest(p_rules, p_parts, p_timeouts_us) as g(rule, parts, timeout_us)
        where g.rule not in ('fail_fast', 'collect_all', 'threshold')
            or (g.rule = 'threshold') <> (g.parts is not null)
            or g.parts not between 0 and 1000000
            or g.timeout_us not between 0 and kinfolk.delay_max_us())
    then
        raise exception using errcode = 'KF001', message = 'the rule or the timeout of a fan-out is unknown or out of range',
            hint = 'there are: fail_fast, collect_all, and threshold with its parts of a million';
    end if;
    if cardinality(p_signals) > 0 then
        perform kinfolk.require_name('signal', n) from unnest(p_signals) n;
    end if;
end
$$;

-- Whether an array has so many elements, all of them there.
create or replace function kinfolk.is_full(p_array anyarray, p_many integer) returns boolean
language sql immutable
as $$ select coalesce(cardinality(p_array) = p_many and array_position(p_array, null) is null, false) $$;

-- Refuses to await a fan-out that the handler of this task has not begun.
create or replace function kinfolk.require_awaited(p_task bigint, p_fan_outs bigint[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange bigint;
begin
    select g.id
    into v_strange
    from unnest(p_fan_outs) as g(id)
    where not exists (
        select
        from (select f.task_id, f.rule from kinfolk.fan_out f where f.id = g.id offset 0) f
        where f.task_id = p_task
            and f.rule is not null)
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('fan-out %s is not awaited by task %s', v_strange, p_task);
    end if;
end
$$;
