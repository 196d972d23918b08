-- Lets what failed or was cancelled in the family of a task run again: the root must have ended so. Answers how many tasks
-- pend and how many wait then; see `revive`.
-- Errors: KF002 when there is no such task; KF003 (detail: the root's state) when the root has not failed and was not
-- cancelled.
--
-- Locks the family as a whole, then the root, then what `revive` locks.

create or replace function kinfolk.retry_family(p_task bigint, out pending bigint, out waiting bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_root record;
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_family_of(p_task);
    -- Whoever removes the family by retention holds the root's row.
    select r.id, r.state, case when q.family_limit is null then 'open' else 'limit' end::kinfolk.gate as gate
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task
    for update of r;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_root.state not in ('failed', 'cancelled') then
        raise exception using errcode = 'KF003',
            message = format('task %s, the root of the family, is %s', v_root.id, v_root.state),
            hint = 'only a failed or cancelled family can be retried', detail = v_root.state::text;
    end if;
    -- The root itself is let in by a claim, and the others with it.
    select r.pending, r.waiting into pending, waiting
    from kinfolk.revive(v_root.id, 'open', v_root.gate, kinfolk.clock()) r;
end
$$;

-- The children of a task that are revived with it: of those it spawned, and of the fan-outs that it awaits again (`p_fan_outs`),
-- all that failed or were cancelled. `joins`: it waits for its own children again.
create or replace function kinfolk.revivable(p_task bigint, p_fan_outs bigint[])
returns table (
    id bigint, queue_id integer, fan_out_id bigint, nth integer, joins boolean, parked boolean,
    child_order kinfolk.child_order
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select c.id, c.queue_id, c.fan_out_id, c.nth, kinfolk.joins_again(c.id, c.state, c.outcome, c.parked), c.parked,
        f.child_order
    from (
        select f.id, f.child_order
        from kinfolk.fan_out f
        where f.task_id = p_task
            and (f.rule is null or f.id = any (p_fan_outs))
        offset 0
    ) f
    cross join lateral (
        select c.id, c.queue_id, c.fan_out_id, c.nth, c.state, c.outcome, c.parked
        from kinfolk.task c
        where c.fan_out_id = f.id
            and c.state in ('failed', 'cancelled')
        offset 0
    ) c
$$;

-- Which fan-outs a handler that failed by itself, or was cancelled, awaits again: those that did not end well (of one that was
-- cancelled also those with children that were cancelled with it), and that it knows of once it has forgotten every step from
-- `cut` on. That is where it heard of the first such end, or where it took in part of a stream before,
-- since the order changes in which that one was read. No row where there are none.
create or replace function kinfolk.reopening(p_task bigint) returns table (cut integer, fan_outs bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with bad as materialized (
        select f.id, c.seq, least(f.decided_step, (
                select min(s.seq)
                from kinfolk.checkpoint s
                where s.task_id = p_task
                    and s.seq > c.seq
                    and s.kind = 'fold')) as cut
        from kinfolk.task t
        join kinfolk.checkpoint c on c.task_id = t.id
        cross join lateral (
            select f.id, f.decided_step
            from kinfolk.fan_out f
            where f.id = (c.value #>> '{}')::bigint
                and (f.verdict in ('failed', 'timed_out') or (t.state = 'cancelled' and f.cancelled > 0))
            offset 0
        ) f
        where t.id = p_task
            and c.kind = 'fan_out'
    )
    select m.cut, array_agg(b.id)
    from (select min(b.cut) as cut from bad b) m
    join bad b on b.seq < m.cut
    group by m.cut
$$;

-- Has tasks, which failed by themselves or were cancelled, await their fan-outs again that did not end well, and forget every
-- step from their cut on, except for the signals that they took: nobody sends those twice. The caller has locked the family whole, and counts the children anew.
create or replace function kinfolk.reopen(p_tasks bigint[], p_cuts integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_tasks is null then
        return;
    end if;
    update kinfolk.fan_out f set wake_at = null where f.task_id = any (p_tasks) and f.wake_at is not null;
    update kinfolk.fan_out f
    set
        verdict = null,
        settled_at = null,
        decided_at = null,
        decided_step = null,
        deadline = null,
        wake_at = f.total
    from unnest(p_tasks) as g(id)
    cross join lateral (select unnest(k.fan_outs) as fan_out from kinfolk.reopening(g.id) k) k
    where f.id = k.fan_out;
    delete from kinfolk.checkpoint c
    using unnest(p_tasks, p_cuts) as g(id, cut)
    where c.task_id = g.id
        and c.seq >= g.cut
        and c.kind <> 'signal';
    -- What is left closes up: by way of numbers that nobody has.
    update kinfolk.checkpoint c
    set seq = -1 - n.seq
    from (
        select k.task_id, k.seq as old, g.cut + row_number() over (partition by g.id order by k.seq) - 1 as seq
        from unnest(p_tasks, p_cuts) as g(id, cut)
        join kinfolk.checkpoint k on k.task_id = g.id and k.seq >= g.cut
    ) n
    where c.task_id = n.task_id
        and c.seq = n.old;
    update kinfolk.checkpoint c
    set seq = -1 - c.seq
    where c.task_id = any (p_tasks)
        and c.seq < 0;
    update kinfolk.task t
    set steps = (select count(*) from kinfolk.checkpoint c where c.task_id = t.id)
    from unnest(p_tasks) as g(id)
    where t.id = g.id;
end
$$;

-- Counts the children of fan-outs anew, and sets right what is known of the order in which they ended. Locks the fan-outs,
-- deepest first, then by id.
create or replace function kinfolk.recount(p_fan_outs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    perform from kinfolk.fan_out f where f.id = any (p_fan_outs) order by f.depth desc, f.id for update;
    update kinfolk.fan_out f
    set
        waits = n.waits,
        total = n.total,
        completed = n.completed,
        failed = n.failed,
        cancelled = n.cancelled,
        held = n.held
    from unnest(p_fan_outs) as g(id)
    cross join lateral (
        select count(*) as total,
            count(*) filter (where c.state = 'completed') as completed,
            count(*) filter (where c.state = 'failed') as failed,
            count(*) filter (where c.state = 'cancelled') as cancelled,
            count(*) filter (where c.gate = 'after') as held,
            exists (
                select
                from kinfolk.fan_out o
                join kinfolk.task t on t.id = o.task_id
                where o.id = g.id
                    and t.state::text = 'waiting'
                    and t.outcome is not null) as waits
        from kinfolk.task c
        where c.fan_out_id = g.id
    ) n
    where f.id = g.id
        and f.id = any (p_fan_outs);
    perform kinfolk.reorder(f.id) from kinfolk.fan_out f where f.id = any (p_fan_outs) and f.rule is not null;
end
$$;

-- Writes the order anew in which the children of a fan-out ended that have: those that it knew of in their old order, then the
-- others by `nth`.
create or replace function kinfolk.reorder(p_fan_out bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set enable_nestloop = off
as $$
declare
    v_nths integer[] := array(
        select c.nth
        from kinfolk.task c
        left join (
            select n.nth, p.first + n.place as place
            from kinfolk.ended_page p
            cross join lateral unnest(p.nths) with ordinality as n(nth, place)
            where p.fan_out_id = p_fan_out
        ) o on o.nth = c.nth
        where c.fan_out_id = p_fan_out
            and c.state >= 'completed'
        order by o.place, c.nth);
begin
    delete from kinfolk.ended_page p where p.fan_out_id = p_fan_out;
    insert into kinfolk.ended_page (fan_out_id, first, nths)
    select p_fan_out, i, v_nths[i + 1:i + kinfolk.page_max()]
    from generate_series(0, cardinality(v_nths) - 1, kinfolk.page_max()) i;
end
$$;
