-- Makes children of a task, those from `p_from` to `p_to` of what is given as one array a property, and answers how many came
-- to be: one under a unique key that is held by another task does not. `p_first`: the `nth` of the first of them;
-- `p_held_from`: those from this `nth` on wait for their turn; null: none does.
--
-- Locks nothing that exists. Those without a key go in by one statement.

create or replace function kinfolk.make_children(
    p_parent bigint, p_root bigint, p_depth integer, p_fan_out bigint, p_first integer, p_held_from integer,
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
            when g.nth >= p_held_from then 'after'::kinfolk.gate
            when coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now) > p_now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_priority), g.max_attempts, p_place,
        coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now),
        p_now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end,
        p_parent, p_root, p_fan_out, g.nth, p_depth, 'child'
    -- Not unnested as a table, which would be put down, array by array, before it is read.
    from (
        select unnest(p_ids[p_from:p_to]) as id, unnest(v_nths) as nth, unnest(p_commands[p_from:p_to]) as command_id,
            unnest(p_queues[p_from:p_to]) as queue_id, unnest(p_payloads[p_from:p_to]) as payload,
            unnest(p_priorities[p_from:p_to]) as priority, unnest(p_dues[p_from:p_to]) as due,
            unnest(p_delays_us[p_from:p_to]) as delay_us, unnest(p_keys[p_from:p_to]) as key,
            unnest(p_max_attempts[p_from:p_to]) as max_attempts, unnest(p_timeouts_us[p_from:p_to]) as timeout_us,
            unnest(p_traces[p_from:p_to]) as trace
    ) g
    where g.key is null;
    insert into kinfolk.body (task_id, payload)
    select g.id, g.payload
    from (
        select unnest(p_ids[p_from:p_to]) as id, unnest(p_payloads[p_from:p_to]) as payload, unnest(p_keys[p_from:p_to]) as key
    ) g
    where pg_column_size(g.payload) > 256
        and g.key is null;
    if v_is_keyed then
        update kinfolk.task t
        set
            gate = case when g.nth >= p_held_from then 'after'::kinfolk.gate else t.gate end,
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

-- Makes children of a task in the fan-out of its own number, and answers how many came to be. That fan-out may be there from an
-- earlier suspension: later ones queue behind the earlier, and the order given last is that of the fan-out from then on.
create or replace function kinfolk.make_spawned(
    p_task bigint, p_root bigint, p_depth integer, p_order kinfolk.child_order, p_waits boolean, p_priority integer,
    p_place timestamptz, p_now timestamptz, p_from integer, p_to integer,
    p_ids bigint[], p_commands integer[], p_queues integer[], p_payloads jsonb[], p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[]
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_old record;
    v_first integer;
    v_held_from integer;
    v_made integer;
begin
    select f.total, f.completed + f.failed + f.cancelled < f.total as is_open, f.held
    into v_old
    from kinfolk.fan_out f
    where f.id = p_task
    for update;
    v_first := coalesce(v_old.total, 0);
    if p_order <> 'together' then
        v_held_from := v_first + case when v_old.is_open then 0 else 1 end;
    end if;
    v_made := kinfolk.make_children(p_task, p_root, p_depth + 1, p_task, v_first, v_held_from, p_priority, p_place, p_now,
        p_from, p_to, p_ids, p_commands, p_queues, p_payloads, p_priorities, p_dues, p_delays_us, p_keys, p_scopes,
        p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces);
    if v_made = 0 then
        return 0;
    end if;
    if v_old.held > 0 and p_order = 'together' then
        perform kinfolk.open_held(p_task, p_now);
    end if;
    insert into kinfolk.fan_out as f (id, task_id, root_id, depth, child_order, waits, total, held)
    values (p_task, p_task, p_root, p_depth, p_order, p_waits, v_made, greatest(v_first + v_made - v_held_from, 0))
    on conflict (id) do update set
        child_order = excluded.child_order,
        total = f.total + excluded.total,
        held = f.held + excluded.held;
    return v_made;
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
        case when v_fan_out.is_in_order then v_fan_out.total end, v_priority, p_place, p_now, p_from, p_to, p_ids, p_commands,
        p_queues, p_payloads, p_priorities, p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us,
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
