-- Writes everything of a suspension except the waiting state: checkpoints, earlier fan-outs that are awaited again, made
-- tasks, and new fan-outs with their children. Returns the numbers of the new fan-outs. The caller has locked the family and
-- the task. `p_made`: null where no task is made. Locks the fan-outs that grow or are awaited, and what `make_follow_up` locks.

create or replace function kinfolk.write_suspended(
    p_maker kinfolk.maker, p_steps kinfolk.checkpoints, p_made kinfolk.made, p_order text, p_fans kinfolk.begun_fan_outs,
    p_awaits kinfolk.awaits
) returns bigint[]
language plpgsql volatile
as $$
declare
    v_made integer := cardinality(p_made.kinds);
    v_fans integer := cardinality(p_fans.sizes);
    v_ids bigint[];
    v_fan_outs bigint[];
    v_of bigint[];
    v_nths integer[];
begin
    if cardinality(p_made.commands) > 0 then
        -- In the order of making, the fan-outs before their children.
        v_ids := array(select nextval('kinfolk.task_id') from generate_series(1, cardinality(p_made.commands) + v_fans));
        v_fan_outs := v_ids[v_made + 1:v_made + v_fans];
        p_made.ids := v_ids[:v_made] || v_ids[v_made + v_fans + 1:];
    end if;
    if cardinality(p_steps.names) + v_fans > 0 then
        perform kinfolk.write_checkpoints(
            array_fill(p_maker.task_id, array[cardinality(p_steps.names) + v_fans]), row(p_steps.branches || p_fans.branches,
            p_steps.names || p_fans.names, p_steps.occurrences || p_fans.occurrences,
            p_steps.kinds || array_fill('fan_out'::text, array[v_fans]), p_steps.digests || p_fans.digests,
            p_steps.values || array(select to_jsonb(n) from unnest(v_fan_outs) n))::kinfolk.checkpoints);
    end if;
    if p_maker.was_suspended then
        perform kinfolk.await_again(p_maker.task_id, p_awaits.fan_outs, p_awaits.wakes);
    end if;
    if v_made > 0 then
        perform kinfolk.make_all(p_maker, p_made, p_order, false);
    end if;
    if v_fans > 0 then
        insert into kinfolk.fan_out
            (id, task_id, root_id, depth, child_order, waits, total, rule, parts, wake_at, deadline, cancel_on_failure, created_at)
        select g.id, p_maker.task_id, p_maker.root_id, p_maker.depth, 'together', false, g.size, g.rule, g.parts, g.wake_at,
            p_maker.now + g.timeout_us * interval '1 microsecond', g.cancels, p_maker.now
        from unnest(v_fan_outs, p_fans.sizes, p_fans.rules, p_fans.parts, p_fans.wakes, p_fans.timeouts_us, p_fans.cancels)
            as g(id, size, rule, parts, wake_at, timeout_us, cancels);
        if v_fans = 1 then
            v_of := array_fill(v_fan_outs[1], p_fans.sizes);
            v_nths := array(select generate_series(0, p_fans.sizes[1] - 1));
        else
            select array_agg(f.id order by f.nth, n), array_agg(n order by f.nth, n)
            into v_of, v_nths
            from unnest(v_fan_outs, p_fans.sizes) with ordinality as f(id, size, nth)
            cross join lateral generate_series(0, f.size - 1) n;
        end if;
        perform kinfolk.insert_children(p_maker, v_of, v_nths, null, v_made + 1, p_made);
    end if;
    return v_fan_outs;
end
$$;
