-- Asks for the end of a task and of all its descendants, in one transaction. Those that pend are cancelled; those that run are
-- asked to end, and their workers are told; those that wait go on waiting, to be cancelled with their last child. Answers
-- `now` if the task has ended with that, else `requested`; or the state in which it had ended already; or `not_found`.
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
    v_held record;
    v_task record;
begin
    perform kinfolk.require_read_committed();
    -- point: cancel.begun
    if not kinfolk.lock_family_of(p_task) then
        return 'not_found';
    end if;
    -- Only a task that waits has children that have not ended.
    with recursive member as (
        select t.id, t.state
        from kinfolk.task t
        where t.id = p_task
            and t.state < 'completed'
        union all
        select c.id, c.state
        from member m
        cross join lateral (select f.id from kinfolk.fan_out f where f.task_id = m.id offset 0) f
        cross join lateral (
            select c.id, c.state
            from kinfolk.task c
            where c.fan_out_id = f.id
                and c.state < 'completed'
            offset 0
        ) c
        where m.state = 'waiting'
    )
    select array_agg(m.id order by m.id) into v_ids from member m;

    -- point: cancel.family_locked
    with held as materialized (
        select t.*
        from unnest(v_ids) as g(id)
        cross join lateral (
            select t.id, t.state, t.fan_out_id, t.gate = 'after' as was_after, t.worker_id
            from kinfolk.task t
            where t.id = g.id
                and t.state < 'completed'
            for update
        ) t
    )
    select array_agg(h.id) filter (where h.state = 'pending') as pending,
        array_agg(h.fan_out_id) filter (where h.state = 'pending') as fan_outs,
        array_agg(h.was_after) filter (where h.state = 'pending') as was_after,
        array_agg(h.id) filter (where h.state = 'running') as running,
        array_agg(distinct h.worker_id) filter (where h.state = 'running') as workers,
        array_agg(h.id) filter (where h.state = 'waiting') as waiting
    into v_held
    from held h;
    -- point: cancel.rows_locked
    v_now := kinfolk.clock();

    update kinfolk.task t
    set
        cancel_requested_at = coalesce(t.cancel_requested_at, v_now),
        outcome = case when t.state = 'waiting' then 'cancelled'::kinfolk.state end,
        result = null
    from unnest(v_held.running || v_held.waiting) as g(id)
    where t.id = g.id;
    perform pg_notify('kinfolk', 'c:' || w) from unnest(v_held.workers) w;
    if v_held.pending is not null then
        perform kinfolk.end_pending(v_held.pending, kinfolk.failure_cancelled(), v_now);
        perform kinfolk.ended(v_held.fan_outs, array_fill('cancelled'::kinfolk.state, array[cardinality(v_held.pending)]),
            v_held.was_after, v_now);
    end if;

    select t.state, t.queue_id, t.parent_id into v_task from kinfolk.task t where t.id = p_task;
    -- It had ended, or did so while its row was waited for.
    if num_nonnulls(v_held.pending, v_held.running, v_held.waiting) = 0 then
        return v_task.state;
    end if;
    if v_task.parent_id is null and v_task.state = 'cancelled' then
        -- It may have been a follow-up, and its family may have been at work.
        perform from kinfolk.follow_up f where f.task_id = p_task order by f.root_id for update;
        delete from kinfolk.follow_up f where f.task_id = p_task;
        perform kinfolk.notify_limited(array[v_task.queue_id]);
    end if;
    return case when v_task.state = 'cancelled' then 'now' else 'requested' end;
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
