-- Records that an attempt was done and what it made, in one transaction: siblings, children, follow-ups and other tasks, given
-- as one array a property, in that order of kinds (`sibling`, `child`, `follow_up`, `task`). With open children the task
-- waits. If one of them can't be made, none is, and the attempt has failed: the first that can't be, says why. A stale or
-- repeated settle, and one of a task whose end is asked for, makes nothing. The answer is as that of `settle`.
--
-- `p_slot_keys`: keys in the groups of their commands; `p_inherits`: whether they take those of their maker too.
-- `p_order`: how the children run. `p_whens`: what follow-ups wait for (`settled`, `completed`). `p_ids`: numbers taken before.
--
-- Locks the family (shared; whole, if the task was suspended before), the keys of follow-ups, the task; then, if there are
-- siblings, the fan-out of its parent; then what `make_follow_up` and `ended` lock.

create or replace function kinfolk.settle_made(
    p_task bigint,
    p_token uuid,
    p_result jsonb,
    p_order text,
    p_kinds text[],
    p_commands text[],
    p_payloads jsonb[],
    p_queues text[] default '{}',
    p_priorities integer[] default '{}',
    p_dues timestamptz[] default '{}',
    p_delays_us bigint[] default '{}',
    p_keys text[] default '{}',
    p_scopes text[] default '{}',
    p_windows_us bigint[] default '{}',
    p_on_duplicates text[] default '{}',
    p_max_attempts integer[] default '{}',
    p_timeouts_us bigint[] default '{}',
    p_traces text[] default '{}',
    p_whens text[] default '{}',
    p_ids bigint[] default '{}',
    p_slot_keys jsonb[] default '{}',
    p_inherits boolean[] default '{}'
) returns table (answer text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_task record;
    v_root record;
    v_items record;
    v_made integer;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_settles(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}');
    perform kinfolk.require_made(p_order, p_kinds, p_whens, p_ids);
    if cardinality(p_dues) > 0 then
        perform kinfolk.require_dues(p_dues);
    end if;
    if cardinality(p_slot_keys) > 0 then
        perform kinfolk.require_keys(p_slot_keys);
    end if;
    perform kinfolk.require_tasks(p_kinds, p_commands, p_payloads, p_priorities, p_delays_us, p_keys, p_scopes,
        p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, kinfolk.made_max());
    select r.id, r.place, least(q.depth_limit, kinfolk.depth_max()) as depth_limit, t.parked,
        case when t.parked then array[r.id] end as parked_in
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task;
    perform kinfolk.lock_families(array[v_root.id], v_root.parked);
    perform kinfolk.lock_follow_up_keys(p_kinds, p_commands, p_keys);

    -- point: made.begun
    select t.id, t.queue_id, t.parent_id, t.fan_out_id, t.depth, t.slot, t.keyed, t.keys,
        t.cancel_requested_at is not null as is_cancelled
    into v_task
    from kinfolk.task t
    where t.id = p_task
        and t.token = p_token
        and t.worker_id is not null
    for update;
    v_now := kinfolk.clock();
    if v_task.id is null or v_task.is_cancelled then
        return query
        select r.answer, r.state
        from kinfolk.settle_rest(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}', '{}', v_now,
            array[v_root.id], v_root.parked_in, null, null) r;
        return;
    end if;

    -- point: made.locked
    select r.*
    into v_items
    from kinfolk.resolve_made(v_task.parent_id, v_task.fan_out_id, v_task.depth, v_root.depth_limit, p_kinds, p_commands,
        p_queues, p_max_attempts, p_timeouts_us, p_slot_keys, p_inherits, v_task.keys, null) r;
    if v_items.refused is not null then
        return query
        select r.answer, r.state
        from kinfolk.settle_refused(p_task, p_token, p_kinds[v_items.refused], p_commands[v_items.refused],
            p_queues[v_items.refused], p_slot_keys[v_items.refused], v_root.id, v_root.parked_in, v_now) r;
        return;
    end if;
    if cardinality(p_ids) = 0 then
        p_ids := array(select nextval('kinfolk.task_id') from generate_series(1, cardinality(p_kinds)));
    end if;
    v_made := kinfolk.make_all(p_task, v_root.id, v_root.place, true, p_order, p_kinds, p_ids, v_items.commands,
        v_items.queues, v_items.max_attempts, v_items.timeouts_us, p_commands, p_payloads, p_queues, p_priorities, p_dues,
        p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens, v_now);

    if v_items.keys is not null then
        perform kinfolk.give_keys(p_ids, v_items.keys);
    end if;

    -- point: made.written
    perform kinfolk.notify_queues(v_items.notify, false);
    if v_made = 0 then
        return query
        select r.answer, r.state
        from kinfolk.settle_rest(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}', '{}', v_now,
            array[v_root.id], v_root.parked_in, null, null) r;
        return;
    end if;
    perform kinfolk.wait_for_children(p_task, p_result, v_now);
    if v_root.parked then
        perform kinfolk.wait_for_family(array[p_task]);
    end if;
    if v_task.keyed then
        perform kinfolk.release_slots(array[p_task]);
    end if;
    if v_task.slot then
        perform kinfolk.notify_queues(array[v_task.queue_id], false);
    end if;
    return query select 'recorded', 'waiting';
end
$$;

-- Ends the attempt of a task, which the caller has locked, whose own work is done and whose children are open.
create or replace function kinfolk.wait_for_children(p_task bigint, p_result jsonb, p_now timestamptz) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending)
    select t.id, t.runs, t.attempt, t.started_at, p_now, t.worker_id, 'completed'
    from kinfolk.task t
    where t.id = p_task
        and t.runs > 1;
    update kinfolk.task t
    set
        state = 'waiting',
        outcome = 'completed',
        worker_id = null,
        result = p_result,
        failure = null,
        suspect = false,
        strikes = 0,
        slot = false
    where t.id = p_task
$$;

-- Settles an attempt, whose task the caller has locked, that made what can't be made. It may be tried again if that may pass:
-- someone may yet make known what was not.
create or replace function kinfolk.settle_refused(
    p_task bigint, p_token uuid, p_kind text, p_command text, p_queue text, p_keys jsonb, p_root bigint,
    p_parked bigint[], p_now timestamptz
) returns table (answer text, state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_item record;
    v_why text;
    v_name text;
begin
    select t.parent_id, t.fan_out_id, t.depth, c.id as command_id, p_queue is null or q.id is not null as has_queue, h.name as queue,
        h.child_limit, rq.name as root_queue, least(rq.depth_limit, kinfolk.depth_max()) as depth_limit
    into v_item
    from kinfolk.task t
    join kinfolk.task r on r.id = p_root
    join kinfolk.queue rq on rq.id = r.queue_id
    left join kinfolk.command c on c.name = p_command
    left join kinfolk.queue q on q.name = p_queue
    left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
    where t.id = p_task;
    v_why := kinfolk.why_not(p_kind, v_item.parent_id, v_item.fan_out_id, v_item.command_id, v_item.has_queue,
        kinfolk.unknown_group(v_item.command_id, p_keys), v_item.child_limit, v_item.depth, v_item.depth_limit);
    v_name := case v_why
        when 'no_parent' then p_task::text
        when 'unknown_command' then p_command
        when 'unknown_queue' then p_queue
        when 'unknown_group' then kinfolk.unknown_group(v_item.command_id, p_keys)
        when 'no_children' then v_item.queue
        else v_item.root_queue
    end;
    return query
    select r.answer, r.state
    from kinfolk.settle_rest(array[p_task], array[p_token],
        array[case when v_why in ('unknown_command', 'unknown_queue', 'unknown_group') then 'failed' else 'never' end], '{}',
        array[kinfolk.failure_refused(v_why, v_name)], '{}', '{}', p_now, array[p_root], p_parked, null, null) r;
end
$$;

-- Refuses a whole settle if what it makes is given in a way that no store would keep.
create or replace function kinfolk.require_made(p_order text, p_kinds text[], p_whens text[], p_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_order is null or p_order not in ('together', 'in_order', 'in_order_until_failure') then
        raise exception using errcode = 'KF001', message = format('unknown order %L', p_order),
            hint = 'there are: together, in_order, in_order_until_failure';
    end if;
    -- Most handlers make things of one kind.
    if (p_kinds[1] = all (p_kinds) and p_kinds[1] in ('sibling', 'child', 'follow_up', 'task')) is not true
        and exists (
            select
            from (
                select k.place, lag(k.place, 1, 1) over (order by k.nth) as before
                from (
                    select coalesce(array_position('{sibling,child,follow_up,task}'::text[], u.kind), 0) as place, u.nth
                    from unnest(p_kinds) with ordinality as u(kind, nth)
                ) k
            ) o
            where o.place < o.before)
    then
        raise exception using errcode = 'KF001', message = 'the kinds of what was made are unknown or not in order',
            hint = 'first each sibling, then each child, then each follow_up, then each task';
    end if;
    if cardinality(p_whens) > 0 and exists (select from unnest(p_whens) w where w not in ('settled', 'completed')) then
        raise exception using errcode = 'KF001', message = 'a follow-up waits for something unknown',
            hint = 'there are: settled, completed';
    end if;
    if coalesce(cardinality(p_ids) not in (0, cardinality(p_kinds)), true) or array_position(p_ids, null) is not null then
        raise exception using errcode = 'KF001', message = 'p_ids and p_kinds must be as many, and none of them null';
    end if;
    if cardinality(p_ids) > 0 and (
        exists (select from kinfolk.task t where t.id = any (p_ids))
        or exists (select from unnest(p_ids) i where i < 1 or i > (select s.last_value from kinfolk.task_id s)))
    then
        raise exception using errcode = 'KF001', message = 'p_ids has a number that is in use, or was never given out',
            hint = 'take numbers from kinfolk.take_ids, or leave them out';
    end if;
end
$$;
