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
