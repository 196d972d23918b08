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
