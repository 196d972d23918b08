-- Makes the children of fan-outs that are awaited, so many of each, all by one statement: those behind the first `p_before` of
-- what was made. `p_largest`: how large the largest payload is in memory.
create or replace function kinfolk.make_awaited(
    p_maker kinfolk.maker, p_before integer, p_fan_outs bigint[], p_sizes integer[], p_made kinfolk.made, p_largest integer
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
            when coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now) > p_maker.now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, p_maker.priority), g.max_attempts, p_maker.place,
        coalesce(g.due, p_maker.now + g.delay_us * interval '1 microsecond', p_maker.now),
        p_maker.now, g.timeout_us, g.trace, case when pg_column_size(g.payload) <= 256 then g.payload end,
        p_maker.task_id, p_maker.root_id, g.fan_out_id, g.nth, p_maker.depth + 1, 'child'
    -- Not unnested as a table, which would be put down, array by array, before it is read.
    from (
        select unnest(p_made.ids) as id, unnest(v_of) as fan_out_id, unnest(v_nths) as nth, unnest(p_made.command_ids) as command_id,
            unnest(p_made.queue_ids) as queue_id, unnest(p_made.payloads) as payload, unnest(p_made.priorities) as priority,
            unnest(p_made.dues) as due, unnest(p_made.delays_us) as delay_us, unnest(p_made.attempts) as max_attempts,
            unnest(p_made.timeouts) as timeout_us, unnest(p_made.traces) as trace
    ) g
    where g.fan_out_id is not null;
    if p_largest > 256 then
        insert into kinfolk.body (task_id, payload)
        select g.id, g.payload
        from unnest(p_made.ids, v_of, p_made.payloads) as g(id, fan_out_id, payload)
        where g.fan_out_id is not null
            and pg_column_size(g.payload) > 256;
    end if;
end
$$;
