-- Counts tasks that have just become terminal in their fan-outs, decides awaited fan-outs, and settles or resumes the waiting
-- parents whose last child this was, level by level up to the root. `p_fan_outs`, `p_nths`, `p_states`, `p_after`: for each
-- of those tasks its fan-out, its `nth`, its new state, and whether its gate was `after` until now. A null state only looks
-- at the fan-out.
--
-- The caller holds the family's lock and has locked all its own rows. Locks go upwards from here: the fan-outs of one depth
-- by number, then their waiting owners by number, then the next depth. The counts change only here, under the fan-out's lock.
-- The values that the update returns decide about the fan-out. A statement that begins after the owner's row is locked
-- decides about the owner, which may have several fan-outs. So two last children can't miss each other.

create or replace function kinfolk.ended(
    p_fan_outs bigint[], p_nths integer[], p_states kinfolk.state[], p_after boolean[], p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
-- So that fan-outs are read, and locked, in the order of their numbers.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_level record;
    v_next record;
    v_depth smallint;
    v_counted record;
    v_owners bigint[];
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
        from (select unnest(p_fan_outs) as id, unnest(p_states) as state, unnest(p_after) as was_after) e
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
                -- Not by a join: one of hundreds of fan-outs with an array of as many is planned as if there were one.
                completed = f.completed + v_level.completed[array_position(v_level.ids, f.id)],
                failed = f.failed + v_level.failed[array_position(v_level.ids, f.id)],
                cancelled = f.cancelled + v_level.cancelled[array_position(v_level.ids, f.id)],
                held = f.held - v_level.held[array_position(v_level.ids, f.id)]
            where f.id = any (v_level.ids)
                and f.depth = v_depth
            returning f.id, f.task_id, f.waits, f.held, f.total - f.completed - f.failed - f.cancelled as open,
                f.child_order = 'in_order_until_failure' and v_level.failed[array_position(v_level.ids, f.id)] > 0 as is_over,
                f.rule is not null as is_awaited,
                case
                    when f.verdict is null
                    then kinfolk.verdict_of(f.rule, f.parts, f.total, f.completed, f.failed, f.cancelled)
                end as verdict,
                f.wake_at is not null and (f.verdict is not null or f.completed + f.failed + f.cancelled >= f.wake_at)
                    as is_awake,
                f.wake_at
        )
        select array_agg(c.id order by c.id) filter (where c.held > 0 and c.is_over) as over,
            array_agg(c.id order by c.id) filter (where c.held > 0 and not c.is_over and c.open = c.held) as idle,
            bool_or(c.is_awaited) as is_awaited,
            array_agg(c.id) filter (where c.verdict is not null) as decided,
            array_agg(c.verdict) filter (where c.verdict is not null) as verdicts,
            array_agg(c.task_id) filter (where (c.waits and c.open = 0) or c.is_awake
                or (c.verdict is not null and c.wake_at is not null)) as owners
        into v_counted
        from counted c;
        -- point: ended.counted
        v_owners := v_counted.owners;
        if v_counted.is_awaited then
            perform kinfolk.append_ends(p_fan_outs, p_nths, v_depth);
        end if;
        if v_counted.decided is not null then
            update kinfolk.fan_out f
            set
                verdict = v_counted.verdicts[array_position(v_counted.decided, f.id)],
                settled_at = p_now,
                decided_at = f.completed + f.failed + f.cancelled,
                decided_step = (select t.steps from kinfolk.task t where t.id = f.task_id)
            where f.id = any (v_counted.decided);
        end if;
        foreach v_fan_out in array coalesce(v_counted.over, '{}') loop
            if kinfolk.skip_rest(v_fan_out, p_now) then
                -- Only children that were spawned run in order: the fan-out has its owner's number.
                v_owners := v_owners || v_fan_out;
            end if;
        end loop;
        foreach v_fan_out in array coalesce(v_counted.idle, '{}') loop
            perform kinfolk.open_next(v_fan_out, p_now);
        end loop;
        exit when v_owners is null and v_depth = (select min(d) from unnest(v_level.depths) d);

        -- What is left of shallower fan-outs, and the parents that have ended with this level.
        with joined as materialized (
            select j.fan_out_id, j.nth, j.depth, j.state
            from kinfolk.settle_owners(v_owners) j
            where v_owners is not null
        ),
        merged as (
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
                from joined j
            ) m
            group by m.id, m.depth
            order by m.id
        )
        select array_agg(n.id) as ids, array_agg(n.depth) as depths, array_agg(n.completed) as completed,
            array_agg(n.failed) as failed, array_agg(n.cancelled) as cancelled, array_agg(n.held) as held,
            (select array_agg(j.fan_out_id) from joined j) as joined, (select array_agg(j.nth) from joined j) as joined_nths
        into v_next
        from merged n;
        v_level := v_next;
        p_fan_outs := p_fan_outs || v_next.joined;
        p_nths := p_nths || v_next.joined_nths;
    end loop;
end
$$;
