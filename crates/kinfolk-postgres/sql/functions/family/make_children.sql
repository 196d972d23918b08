-- Makes children of a task in a fan-out, those from `p_from` to `p_to` of what was made, and answers how many came to be: one under a unique key that is held by another task does not. `p_first`: the `nth` of the first of them;
-- `p_held_from`: those from this `nth` on wait for their turn; null: none does.
--
-- Locks nothing that exists. Those without a key go in by one statement.

create or replace function kinfolk.make_children(
    p_maker kinfolk.maker, p_fan_out bigint, p_first integer, p_held_from integer, p_from integer, p_to integer,
    p_made kinfolk.made
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_nths integer[];
    v_is_keyed boolean := exists (select from unnest(p_made.keys[p_from:p_to]) k where k is not null);
    v_next integer := p_first;
begin
    -- Where each of them stands among the children. A keyed one stands there only if it is made.
    if not v_is_keyed then
        v_nths := array(select n - p_from + p_first from generate_series(p_from, p_to) n);
        v_next := p_first + p_to - p_from + 1;
    else
        v_nths := array_fill(null::integer, array[p_to - p_from + 1]);
        for i in p_from..p_to loop
            if p_made.keys[i] is null or kinfolk.make_keyed(p_made.ids[i], p_made.queue_ids[i], p_made.command_ids[i],
                coalesce(p_made.priorities[i], p_maker.priority), p_made.attempts[i],
                coalesce(p_made.dues[i], p_maker.now + coalesce(p_made.delays_us[i], 0) * interval '1 microsecond'), p_made.timeouts[i],
                p_made.traces[i], p_made.payloads[i], p_made.keys[i], coalesce(p_made.scopes[i], 'pending')::kinfolk.unique_scope,
                p_made.windows_us[i], coalesce(p_made.on_duplicates[i], 'keep')::kinfolk.on_duplicate, p_maker.now)
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
            when coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now) > p_maker.now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_maker.priority), g.max_attempts, p_maker.place,
        coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now),
        p_maker.now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end,
        p_maker.task_id, p_maker.root_id, p_fan_out, g.nth, p_maker.depth + 1, 'child'
    -- Not unnested as a table, which would be put down, array by array, before it is read.
    from (
        select unnest(p_made.ids[p_from:p_to]) as id, unnest(v_nths) as nth, unnest(p_made.command_ids[p_from:p_to]) as command_id,
            unnest(p_made.queue_ids[p_from:p_to]) as queue_id, unnest(p_made.payloads[p_from:p_to]) as payload,
            unnest(p_made.priorities[p_from:p_to]) as priority, unnest(p_made.dues[p_from:p_to]) as due,
            unnest(p_made.delays_us[p_from:p_to]) as delay_us, unnest(p_made.keys[p_from:p_to]) as key,
            unnest(p_made.attempts[p_from:p_to]) as max_attempts, unnest(p_made.timeouts[p_from:p_to]) as timeout_us,
            unnest(p_made.traces[p_from:p_to]) as trace
    ) g
    where g.key is null;
    insert into kinfolk.body (task_id, payload)
    select g.id, g.payload
    from (
        select unnest(p_made.ids[p_from:p_to]) as id, unnest(p_made.payloads[p_from:p_to]) as payload, unnest(p_made.keys[p_from:p_to]) as key
    ) g
    where pg_column_size(g.payload) > 256
        and g.key is null;
    if v_is_keyed then
        update kinfolk.task t
        set
            gate = case when g.nth >= p_held_from then 'after'::kinfolk.gate else t.gate end,
            place = p_maker.place,
            parent_id = p_maker.task_id,
            root_id = p_maker.root_id,
            fan_out_id = p_fan_out,
            nth = g.nth,
            depth = p_maker.depth + 1,
            lane = 'child'
        from unnest(p_made.ids[p_from:p_to], v_nths, p_made.keys[p_from:p_to]) as g(id, nth, key)
        where t.id = g.id
            and g.key is not null
            and g.nth is not null;
    end if;
    return v_next - p_first;
end
$$;
