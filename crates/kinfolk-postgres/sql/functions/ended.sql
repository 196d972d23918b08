-- Counts tasks that have just become terminal in the fan-outs they belong to, takes the verdict over those that are awaited,
-- and settles or resumes the waiting parents for whom that was the end, and theirs, up to the root. `p_fan_outs`, `p_nths`,
-- `p_states`, `p_after`: for each of those tasks its fan-out, which child of it it is, the state it went to, and whether it was
-- held behind the gate `after` until now. A state that is null only has the fan-out looked at.
--
-- The caller holds the family's lock and has locked all rows of its own. Locks go upwards from here: the fan-outs of one
-- depth by id, then their waiting owners by id, then the next depth. The counts change only here, under the fan-out's lock,
-- and what follows for the fan-out is decided from the values which that update returns; what follows for the owner, which
-- may have several fan-outs, from a statement that begins when its row is locked: two last children can't miss each other.

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
            perform kinfolk.note_ends(p_fan_outs, p_nths, v_depth);
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

-- The verdict over an awaited fan-out with these counts, if there is one: as `kinfolk_core::durable::Rule::verdict` decides.
create or replace function kinfolk.verdict_of(
    p_rule text, p_parts integer, p_total integer, p_completed integer, p_failed integer, p_cancelled integer
) returns text
language sql immutable
as $$
    select case
        when p_rule is null then null
        when p_rule = 'fail_fast' and p_failed + p_cancelled > 0 then 'failed'
        when p_rule = 'threshold'
            and p_total - p_failed - p_cancelled < (p_total::bigint * p_parts + 999999) / 1000000 then 'failed'
        when p_completed + p_failed + p_cancelled = p_total then 'completed'
    end
$$;

-- Writes down which children of the awaited fan-outs of one depth, which the caller has locked and counted, have ended now: in
-- the order of their `nth`, behind those that had ended before.
create or replace function kinfolk.note_ends(p_fan_outs bigint[], p_nths integer[], p_depth smallint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.ended_page (fan_out_id, first, nths)
    select g.id, f.ended - cardinality(g.nths), g.nths
    from (
        select e.id, array_agg(e.nth order by e.nth) as nths
        from (select unnest(p_fan_outs) as id, unnest(p_nths) as nth) e
        where e.id is not null
            and e.nth is not null
        group by e.id
    ) g
    cross join lateral (
        select f.completed + f.failed + f.cancelled as ended, f.depth, f.rule
        from kinfolk.fan_out f
        where f.id = g.id
        offset 0
    ) f
    where f.depth = p_depth
        and f.rule is not null;
end
$$;

-- Looks at waiting tasks, one of whose fan-outs the caller has locked and seen to be over, or to be what a suspended handler
-- waits for. One that is suspended is resumed: it is pending at its old place. One whose own work is over is settled, if none
-- of its children is open, as `kinfolk_core::decide::join` decides: children that it spawned fail it, those that its handler
-- awaited were for that to judge. Answers for those settled that have a parent their fan-out, which child of it they are, the
-- fan-out's depth, and the state they went to.
--
-- Locks the tasks by number. One that is not waiting by now can't become so meanwhile: that takes the family's lock whole.
create or replace function kinfolk.settle_owners(p_owners bigint[])
returns table (fan_out_id bigint, nth integer, depth smallint, state kinfolk.state)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_ended record;
begin
    perform
    from (select distinct o.id from unnest(p_owners) as o(id) order by o.id) o
    cross join lateral (
        select
        from kinfolk.task t
        where t.id = o.id
            -- Said so that no index on that is thought of, only the key.
            and t.state::text = 'waiting'
        for update
    ) t;
    -- The caller's own clock may lie before the end of a child that another settle has counted meanwhile.
    v_now := kinfolk.clock();

    -- point: ended.joining
    with owner as materialized (
        select t.*
        from (select distinct o.id from unnest(p_owners) as o(id)) o
        cross join lateral (
            select t.id, t.queue_id, t.fan_out_id, t.nth, t.depth, t.outcome, t.keyed
            from kinfolk.task t
            where t.id = o.id
                and t.state::text = 'waiting'
            offset 0
        ) t
    ),
    resumed as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = 'open',
            due = case when t.gate = 'time' then v_now else t.due end,
            signals = null
        from owner o
        where t.id = o.id
            and o.outcome is null
        returning t.queue_id
    ),
    over as materialized (
        select o.*, k.failed, k.total,
            case when o.outcome = 'completed' and k.failed > 0 then 'failed' else o.outcome end as next_state
        from owner o
        cross join lateral (
            select sum(f.total - f.completed - f.failed - f.cancelled) as open,
                sum(f.failed) filter (where f.rule is null) as failed, sum(f.total) filter (where f.rule is null) as total
            from kinfolk.fan_out f
            where f.task_id = o.id
        ) k
        where o.outcome is not null
            and k.open = 0
    ),
    ended as (
        update kinfolk.task t
        set
            state = o.next_state,
            outcome = case when o.next_state = 'failed' and t.outcome = 'completed' then t.outcome end,
            failure = case o.next_state
                when 'cancelled' then kinfolk.failure_cancelled()
                when 'failed' then
                    case when t.outcome = 'failed' then t.failure else kinfolk.failure_children(o.failed, o.total) end
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
        from over o
        where f.task_id = o.id
    )
    select array_agg(e.id) filter (where e.fan_out_id is null) as roots,
        array_agg(e.next_state) filter (where e.fan_out_id is null) as root_states,
        array_agg(distinct e.queue_id) filter (where e.fan_out_id is null) as root_queues,
        array_agg(e.fan_out_id) filter (where e.fan_out_id is not null) as fan_outs,
        array_agg(e.nth) filter (where e.fan_out_id is not null) as nths,
        array_agg((e.depth - 1)::smallint) filter (where e.fan_out_id is not null) as depths,
        array_agg(e.next_state) filter (where e.fan_out_id is not null) as states,
        (select array_agg(distinct r.queue_id) from resumed r) as resumed,
        array_agg(e.id) filter (where e.keyed) as keyed
    into v_ended
    from over e;

    if v_ended.keyed is not null then
        perform kinfolk.release_slots(v_ended.keyed);
    end if;
    if v_ended.resumed is not null then
        perform kinfolk.notify_queues(v_ended.resumed, false);
    end if;
    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
        perform kinfolk.notify_limited(v_ended.root_queues);
    end if;
    return query
    select u.fan_out_id, u.nth, u.depth, u.state
    from unnest(v_ended.fan_outs, v_ended.nths, v_ended.depths, v_ended.states) as u(fan_out_id, nth, depth, state);
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
