-- Counts tasks that have just become terminal in the fan-outs they belong to, and settles waiting parents whose last child
-- this was, and theirs, up to the root. `p_fan_outs`, `p_states`, `p_after`: for each of those tasks its fan-out, the state
-- it went to, and whether it was held behind the gate `after` until now. A state that is null only has the fan-out looked at.
--
-- The caller holds the family's lock and has locked all rows of its own. Locks go upwards from here: the fan-outs of one
-- depth by id, then their waiting owners by id, then the next depth. The counts change only here, under the fan-out's lock,
-- and what follows is decided from the values which that update returns: two last children can't miss each other.

create or replace function kinfolk.ended(
    p_fan_outs bigint[], p_states kinfolk.state[], p_after boolean[], p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_level record;
    v_next record;
    v_depth smallint;
    v_counted record;
    v_joined bigint[];
    v_fan_out bigint;
begin
    select array_agg(g.id) as ids, array_agg(f.depth) as depths, array_agg(g.completed) as completed,
        array_agg(g.failed) as failed, array_agg(g.cancelled) as cancelled, array_agg(g.held) as held
    into v_level
    from (
        select e.id, count(*) filter (where e.state = 'completed')::integer as completed,
            count(*) filter (where e.state = 'failed')::integer as failed,
            count(*) filter (where e.state = 'cancelled')::integer as cancelled,
            count(*) filter (where e.was_after)::integer as held
        from unnest(p_fan_outs, p_states, p_after) as e(id, state, was_after)
        where e.id is not null
        group by e.id
        order by e.id
    ) g
    cross join lateral (select f.depth from kinfolk.fan_out f where f.id = g.id offset 0) f;

    while v_level.ids is not null loop
        v_depth := (select max(d) from unnest(v_level.depths) d);
        -- point: ended.counting
        with counted as (
            update kinfolk.fan_out f
            set
                completed = f.completed + g.completed,
                failed = f.failed + g.failed,
                cancelled = f.cancelled + g.cancelled,
                held = f.held - g.held
            from (
                select u.*
                from unnest(v_level.ids, v_level.depths, v_level.completed, v_level.failed, v_level.cancelled, v_level.held)
                    as u(id, depth, completed, failed, cancelled, held)
                where u.depth = v_depth
                order by u.id
            ) g
            where f.id = g.id
                -- Said once more, so that no plan ever reads other fan-outs.
                and f.id = any (v_level.ids)
            returning f.id, f.waits, f.held, f.total - f.completed - f.failed - f.cancelled as open,
                f.child_order = 'in_order_until_failure' and g.failed > 0 as is_over
        )
        select array_agg(c.id order by c.id) filter (where c.held > 0 and c.is_over) as over,
            array_agg(c.id order by c.id) filter (where c.held > 0 and not c.is_over and c.open = c.held) as idle,
            array_agg(c.id) filter (where c.waits and c.open = 0) as joined
        into v_counted
        from counted c;
        -- point: ended.counted
        v_joined := v_counted.joined;
        foreach v_fan_out in array coalesce(v_counted.over, '{}') loop
            if kinfolk.skip_rest(v_fan_out, p_now) then
                v_joined := v_joined || v_fan_out;
            end if;
        end loop;
        foreach v_fan_out in array coalesce(v_counted.idle, '{}') loop
            perform kinfolk.open_next(v_fan_out, p_now);
        end loop;
        exit when v_joined is null and v_depth = (select min(d) from unnest(v_level.depths) d);

        -- What is left of shallower fan-outs, and the parents that have ended with this level.
        select array_agg(n.id) as ids, array_agg(n.depth) as depths, array_agg(n.completed) as completed,
            array_agg(n.failed) as failed, array_agg(n.cancelled) as cancelled, array_agg(n.held) as held
        into v_next
        from (
            select m.id, m.depth, sum(m.completed)::integer as completed, sum(m.failed)::integer as failed,
                sum(m.cancelled)::integer as cancelled, sum(m.held)::integer as held
            from (
                select u.id, u.depth, u.completed, u.failed, u.cancelled, u.held
                from unnest(v_level.ids, v_level.depths, v_level.completed, v_level.failed, v_level.cancelled, v_level.held)
                    as u(id, depth, completed, failed, cancelled, held)
                where u.depth < v_depth
                union all
                select j.fan_out_id, j.depth, (j.state = 'completed')::integer, (j.state = 'failed')::integer,
                    (j.state = 'cancelled')::integer, 0
                from kinfolk.join_owners(v_joined) j
                where v_joined is not null
            ) m
            group by m.id, m.depth
            order by m.id
        ) n;
        v_level := v_next;
    end loop;
end
$$;

-- Settles the waiting owners of fan-outs, which the caller has locked and seen to be over, as `kinfolk_core::decide::join`
-- decides. Answers for those that have a parent the fan-out they belong to, its depth, and the state they went to.
create or replace function kinfolk.join_owners(p_fan_outs bigint[])
returns table (fan_out_id bigint, depth smallint, state kinfolk.state)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_ended record;
begin
    perform
    from (select f.task_id from kinfolk.fan_out f where f.id = any (p_fan_outs) order by f.task_id) o
    cross join lateral (
        select
        from kinfolk.task t
        where t.id = o.task_id
            and t.state = 'waiting'
        for update
    ) t;
    -- The caller's own clock may lie before the end of a child that another settle has counted meanwhile.
    v_now := kinfolk.clock();

    -- point: ended.joining
    with over as materialized (
        select t.*, f.failed, f.total,
            case when t.outcome = 'completed' and f.failed > 0 then 'failed' else t.outcome end as next_state
        from kinfolk.fan_out f
        cross join lateral (
            select t.id, t.queue_id, t.fan_out_id, t.depth, t.outcome
            from kinfolk.task t
            where t.id = f.task_id
                and t.state = 'waiting'
            offset 0
        ) t
        where f.id = any (p_fan_outs)
    ),
    ended as (
        update kinfolk.task t
        set
            state = o.next_state,
            outcome = case when o.next_state = 'failed' then t.outcome end,
            failure = case o.next_state
                when 'cancelled' then kinfolk.failure_cancelled()
                when 'failed' then kinfolk.failure_children(o.failed, o.total)
            end,
            finished_at = v_now,
            unique_held = t.unique_held and t.unique_scope = 'window',
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end
        from over o
        where t.id = o.id
    ),
    stilled as (
        update kinfolk.fan_out f
        set waits = false
        where f.id = any (p_fan_outs)
    )
    select array_agg(e.id) filter (where e.fan_out_id is null) as roots,
        array_agg(e.next_state) filter (where e.fan_out_id is null) as root_states,
        array_agg(distinct e.queue_id) filter (where e.fan_out_id is null) as root_queues,
        array_agg(e.fan_out_id) filter (where e.fan_out_id is not null) as fan_outs,
        array_agg((e.depth - 1)::smallint) filter (where e.fan_out_id is not null) as depths,
        array_agg(e.next_state) filter (where e.fan_out_id is not null) as states
    into v_ended
    from over e;

    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
        perform kinfolk.notify_limited(v_ended.root_queues);
    end if;
    return query
    select u.fan_out_id, u.depth, u.state
    from unnest(v_ended.fan_outs, v_ended.depths, v_ended.states) as u(fan_out_id, depth, state);
end
$$;

-- Tells the follow-ups that wait for families how those have ended: their roots are terminal now. The follow-ups are opened,
-- or cancelled, by a claim on their queue, which is woken for it. Locks their entries in the order of the primary key.
create or replace function kinfolk.root_ended(p_roots bigint[], p_states kinfolk.state[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    perform
    from kinfolk.follow_up f
    where f.root_id = any (p_roots)
    order by f.task_id, f.root_id
    for update;
    if not found then
        return;
    end if;
    with marked as (
        update kinfolk.follow_up f
        set ended = e.state
        from unnest(p_roots, p_states) as e(root_id, state)
        where f.root_id = e.root_id
        returning f.queue_id
    )
    select array_agg(distinct m.queue_id) into v_queues from marked m;
    perform kinfolk.notify_queues(v_queues, false);
end
$$;

-- Wakes the workers of those of these queues that have a limit: room may have become free there.
create or replace function kinfolk.notify_limited(p_queues integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_limited integer[] := array(
        select q.id
        from kinfolk.queue q
        where q.id = any (p_queues)
            and (q.family_limit is not null or q.child_limit is not null));
begin
    if cardinality(v_limited) > 0 then
        perform kinfolk.notify_queues(v_limited, false);
    end if;
end
$$;
