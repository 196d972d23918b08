-- Inserts children of a task without unique keys by one statement: the made tasks from `p_from` on, as many as `p_nths`.
-- `p_fan_outs`, `p_nths`: the fan-out and the `nth` of each. `p_held_from`: children from this `nth` on wait for their turn;
-- null: none does. Locks no existing row.

create or replace function kinfolk.insert_children(
    p_maker kinfolk.maker, p_fan_outs bigint[], p_nths integer[], p_held_from integer, p_from integer, p_made kinfolk.made
) returns void
language plpgsql volatile
as $$
declare
    v_to integer := p_from + cardinality(p_nths) - 1;
begin
    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, timeout_us, trace, payload, keys,
        parent_id, root_id, fan_out_id, nth, depth, lane)
    select
        g.id, g.queue_id, g.command_id, 'pending',
        case
            when g.nth >= p_held_from then 'after'::kinfolk.gate
            when coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now) > p_maker.now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_maker.priority), g.max_attempts, p_maker.position,
        coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now),
        p_maker.now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end, g.keys,
        p_maker.task_id, p_maker.root_id, g.fan_out_id, g.nth, p_maker.depth + 1, 'child'
    -- Not unnested as a table, which would be put down, array by array, before it is read.
    from (
        select unnest(p_made.ids[p_from:v_to]) as id, unnest(p_fan_outs) as fan_out_id, unnest(p_nths) as nth,
            unnest(p_made.command_ids[p_from:v_to]) as command_id, unnest(p_made.queue_ids[p_from:v_to]) as queue_id,
            unnest(p_made.payloads[p_from:v_to]) as payload, unnest(p_made.priorities[p_from:v_to]) as priority,
            unnest(p_made.dues[p_from:v_to]) as due, unnest(p_made.delays_us[p_from:v_to]) as delay_us,
            unnest(p_made.keys[p_from:v_to]) as key, unnest(p_made.attempts[p_from:v_to]) as max_attempts,
            unnest(p_made.timeouts[p_from:v_to]) as timeout_us, unnest(p_made.traces[p_from:v_to]) as trace,
            unnest(p_made.all_keys[p_from:v_to]) as keys
    ) g
    where g.key is null;
    if p_made.largest > 256 then
        insert into kinfolk.body (task_id, payload)
        select g.id, g.payload
        from unnest(p_made.ids[p_from:v_to], p_made.payloads[p_from:v_to], p_made.keys[p_from:v_to]) as g(id, payload, key)
        where pg_column_size(g.payload) > 256
            and g.key is null;
    end if;
end
$$;
