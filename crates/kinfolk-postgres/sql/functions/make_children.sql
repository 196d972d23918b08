-- Makes children of a task, those from `p_from` to `p_to` of what is given as one array a property, and answers how many came
-- to be: one under a unique key that is held by another task does not. `p_first`: the `nth` of the first of them;
-- `p_is_in_order`: all but the very first of the fan-out wait for their turn.
--
-- Locks nothing that exists. Those without a key go in by one statement.

create or replace function kinfolk.make_children(
    p_parent bigint, p_root bigint, p_depth integer, p_fan_out bigint, p_first integer, p_is_in_order boolean,
    p_priority integer, p_place timestamptz, p_now timestamptz, p_from integer, p_to integer,
    p_ids bigint[], p_commands integer[], p_queues integer[], p_payloads jsonb[], p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[]
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_nths integer[];
    v_is_keyed boolean := exists (select from unnest(p_keys[p_from:p_to]) k where k is not null);
    v_next integer := p_first;
begin
    -- Where each of them stands among the children. A keyed one stands there only if it is made.
    if not v_is_keyed then
        v_nths := array(select n - p_from + p_first from generate_series(p_from, p_to) n);
        v_next := p_first + p_to - p_from + 1;
    else
        v_nths := array_fill(null::integer, array[p_to - p_from + 1]);
        for i in p_from..p_to loop
            if p_keys[i] is null or kinfolk.make_keyed(p_ids[i], p_queues[i], p_commands[i],
                coalesce(p_priorities[i], p_priority), p_max_attempts[i],
                coalesce(p_dues[i], p_now + coalesce(p_delays_us[i], 0) * interval '1 microsecond'), p_timeouts_us[i],
                p_traces[i], p_payloads[i], p_keys[i], coalesce(p_scopes[i], 'pending')::kinfolk.unique_scope,
                p_windows_us[i], coalesce(p_on_duplicates[i], 'keep')::kinfolk.on_duplicate, p_now)
            then
                v_nths[i - p_from + 1] := v_next;
                v_next := v_next + 1;
            end if;
        end loop;
    end if;

    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, trace, payload,
        parent_id, root_id, fan_out_id, nth, depth, lane)
    select
        g.id, g.queue_id, g.command_id, 'pending',
        case
            when p_is_in_order and g.nth > 0 then 'after'::kinfolk.gate
            when coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now) > p_now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_priority), g.max_attempts, p_place,
        coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now),
        p_now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end,
        p_parent, p_root, p_fan_out, g.nth, p_depth, 'child'
    from unnest(p_ids[p_from:p_to], v_nths, p_commands[p_from:p_to], p_queues[p_from:p_to], p_payloads[p_from:p_to],
            p_priorities[p_from:p_to], p_dues[p_from:p_to], p_delays_us[p_from:p_to], p_keys[p_from:p_to],
            p_max_attempts[p_from:p_to], p_timeouts_us[p_from:p_to], p_traces[p_from:p_to])
        as g(id, nth, command_id, queue_id, payload, priority, due, delay_us, key, max_attempts, timeout_us, trace)
    where g.key is null;
    insert into kinfolk.body (task_id, payload)
    select g.id, g.payload
    from unnest(p_ids[p_from:p_to], p_payloads[p_from:p_to], p_keys[p_from:p_to]) as g(id, payload, key)
    where g.key is null
        and pg_column_size(g.payload) > 256;
    if v_is_keyed then
        update kinfolk.task t
        set
            gate = case when p_is_in_order and g.nth > 0 then 'after'::kinfolk.gate else t.gate end,
            place = p_place,
            parent_id = p_parent,
            root_id = p_root,
            fan_out_id = p_fan_out,
            nth = g.nth,
            depth = p_depth,
            lane = 'child'
        from unnest(p_ids[p_from:p_to], v_nths, p_keys[p_from:p_to]) as g(id, nth, key)
        where t.id = g.id
            and g.key is not null
            and g.nth is not null;
    end if;
    return v_next - p_first;
end
$$;

-- Makes siblings of a task: children of its parent, appended to the fan-out, which is locked here.
create or replace function kinfolk.make_siblings(
    p_parent bigint, p_fan_out bigint, p_place timestamptz, p_now timestamptz, p_from integer, p_to integer,
    p_ids bigint[], p_commands integer[], p_queues integer[], p_payloads jsonb[], p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[]
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fan_out record;
    v_priority integer := (select t.priority from kinfolk.task t where t.id = p_parent);
    v_made integer;
begin
    select f.root_id, f.depth, f.total, f.child_order <> 'together' as is_in_order
    into v_fan_out
    from kinfolk.fan_out f
    where f.id = p_fan_out
    for update;
    v_made := kinfolk.make_children(p_parent, v_fan_out.root_id, v_fan_out.depth + 1, p_fan_out, v_fan_out.total,
        v_fan_out.is_in_order, v_priority, p_place, p_now, p_from, p_to, p_ids, p_commands, p_queues, p_payloads,
        p_priorities, p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us,
        p_traces);
    update kinfolk.fan_out f
    set
        total = f.total + v_made,
        held = f.held + case when v_fan_out.is_in_order then v_made else 0 end
    where f.id = p_fan_out;
end
$$;

-- Makes a task under a unique key, or lays it into the holder of that key, and says whether it was made.
create or replace function kinfolk.make_keyed(
    p_id bigint, p_queue_id integer, p_command_id integer, p_priority integer, p_max_attempts integer,
    p_due timestamptz, p_timeout_us bigint, p_trace text, p_payload jsonb, p_key text, p_scope kinfolk.unique_scope,
    p_window_us bigint, p_on_duplicate kinfolk.on_duplicate, p_now timestamptz
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_answer record;
begin
    select k.outcome, k.holder
    into v_answer
    from kinfolk.enqueue_keyed(p_id, p_queue_id, p_command_id, p_priority, p_max_attempts, p_due, p_timeout_us, p_trace,
        p_payload, p_key, p_scope, p_window_us, p_on_duplicate, p_now) k;
    return v_answer.outcome = 'created';
end
$$;
