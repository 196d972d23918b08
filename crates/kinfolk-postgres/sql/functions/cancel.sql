-- Asks for the end of a task and of all its descendants, in one transaction. Those that pend or are suspended are cancelled;
-- those that run are asked to end, and their workers are told; those that have open children wait, to be cancelled with their
-- last one. Answers `now` if the task has ended with that, else `requested`; or the state in which it had ended already; or
-- `not_found`.
--
-- Locks the family as a whole, so that its shape stands still: only claims go on in it. Then the rows of the tasks by number,
-- then what `ended` locks, upwards. Reads `fan_out_task` and `task_fan_out`: each step is a look-up by key, whatever the
-- planner believes about how many tasks are open.

create or replace function kinfolk.cancel(p_task bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_now timestamptz;
    v_ids bigint[];
    v_ended record;
    v_task record;
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    -- point: cancel.begun
    if not kinfolk.lock_family_of(p_task) then
        return 'not_found';
    end if;
    v_ids := kinfolk.members_below(array(select f.id from kinfolk.fan_out f where f.task_id = p_task));
    v_ids := array(select i from unnest(v_ids || p_task) i order by i);

    -- point: cancel.family_locked
    select c.many, c.fan_outs, c.children, c.was_after into v_ended from kinfolk.cancel_members(v_ids, null) c;
    v_now := kinfolk.clock();
    if v_ended.fan_outs is not null then
        perform kinfolk.ended(v_ended.fan_outs, v_ended.children,
            array_fill('cancelled'::kinfolk.state, array[cardinality(v_ended.fan_outs)]), v_ended.was_after, v_now);
    end if;

    select t.state, t.queue_id, t.parent_id, t.parked into v_task from kinfolk.task t where t.id = p_task;
    -- It had ended, or did so while its row was waited for.
    if v_ended.many = 0 then
        return v_task.state;
    end if;
    if v_task.parent_id is null and v_task.state = 'cancelled' then
        -- It may have been a follow-up, and its family may have been at work.
        perform from kinfolk.follow_up f where f.task_id = p_task order by f.root_id for update;
        delete from kinfolk.follow_up f where f.task_id = p_task;
        if v_task.parked then
            perform kinfolk.root_ended(array[p_task], array['cancelled'::kinfolk.state]);
        end if;
        perform kinfolk.notify_limited(array[v_task.queue_id]);
    end if;
    return case when v_task.state = 'cancelled' then 'now' else 'requested' end;
end
$$;

-- All open tasks below these fan-outs, whose family the caller has locked whole, by number. Only a task that waits, or was
-- suspended before, has children that have not ended.
create or replace function kinfolk.members_below(p_fan_outs bigint[]) returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive member as (
        select c.id, c.state = 'waiting' or c.parked as may_have_children
        from unnest(p_fan_outs) as f(id)
        cross join lateral (
            select c.id, c.state, c.parked
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.state < 'completed'
            offset 0
        ) c
        union all
        select c.id, c.state = 'waiting' or c.parked
        from member m
        cross join lateral (select f.id from kinfolk.fan_out f where f.task_id = m.id offset 0) f
        cross join lateral (
            select c.id, c.state, c.parked
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.state < 'completed'
            offset 0
        ) c
        where m.may_have_children
    )
    select array_agg(m.id order by m.id) from member m
$$;

-- Asks for the end of tasks whose family the caller has locked whole, and locks them in the order given. Answers how many had
-- not ended, and of those that have now, and have a parent: their fan-outs, which children of them they are, and whether they
-- were held behind the gate `after`; the caller has them counted.
create or replace function kinfolk.cancel_members(
    p_ids bigint[], p_now timestamptz,
    out many integer, out fan_outs bigint[], out children integer[], out was_after boolean[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    v_held record;
begin
    with held as materialized (
        select t.*
        from unnest(p_ids) as g(id)
        cross join lateral (
            select t.id, t.state, t.fan_out_id, t.nth, t.gate = 'after' as was_after, t.worker_id, t.parked,
                t.state = 'pending' or (t.state = 'waiting' and t.outcome is null) as is_idle
            from kinfolk.task t
            where t.id = g.id
                and t.state < 'completed'
            for update
        ) t
    ),
    known as (
        select h.*, h.is_idle and not (h.parked and exists (
                select
                from kinfolk.fan_out f
                where f.task_id = h.id
                    and f.completed + f.failed + f.cancelled < f.total)) as is_over
        from held h
    )
    select count(*)::integer as many,
        array_agg(k.id) filter (where k.is_over) as over,
        array_agg(k.fan_out_id) filter (where k.is_over and k.fan_out_id is not null) as fan_outs,
        array_agg(k.nth) filter (where k.is_over and k.fan_out_id is not null) as children,
        array_agg(k.was_after) filter (where k.is_over and k.fan_out_id is not null) as was_after,
        array_agg(k.id) filter (where k.state <> 'pending' or not k.is_over) as asked,
        array_agg(k.id) filter (where k.is_idle and not k.is_over) as waiting,
        array_agg(distinct k.worker_id) filter (where k.state = 'running') as workers
    into v_held
    from known k;
    -- point: cancel.rows_locked
    p_now := coalesce(p_now, kinfolk.clock());
    many := v_held.many;
    fan_outs := v_held.fan_outs;
    children := v_held.children;
    was_after := v_held.was_after;

    update kinfolk.task t
    set
        state = case when t.state = 'pending' then 'waiting'::kinfolk.state else t.state end,
        gate = null,
        parked_group = null,
        parked_key = null,
        signals = null,
        cancel_requested_at = coalesce(t.cancel_requested_at, p_now),
        outcome = case when t.state <> 'running' then 'cancelled'::kinfolk.state end,
        failure = case when t.state = 'running' then t.failure end,
        result = null
    from unnest(v_held.asked) as g(id)
    where t.id = g.id;
    if v_held.waiting is not null then
        update kinfolk.fan_out f
        set waits = true
        from unnest(v_held.waiting) as g(id)
        where f.task_id = g.id;
    end if;
    -- What waits for its children from now on starts no more: nothing is kept for it.
    perform kinfolk.drop_reservations(v_held.waiting);
    perform pg_notify('kinfolk', 'c:' || w) from unnest(v_held.workers) w;
    if v_held.over is not null then
        perform kinfolk.end_pending(v_held.over, kinfolk.failure_cancelled(), p_now);
    end if;
end
$$;

-- Locks the family of a task as a whole, and says whether there is such a task. Before it the queue of the root, against a
-- change of its limits.
create or replace function kinfolk.lock_family_of(p_task bigint) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_root record;
begin
    select r.id, r.queue_id
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    where t.id = p_task;
    if not found then
        return false;
    end if;
    perform pg_advisory_xact_lock_shared(1263160902, v_root.queue_id);
    perform kinfolk.lock_families(array[v_root.id], true);
    return true;
end
$$;
