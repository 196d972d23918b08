-- Records that an attempt was done and what it made, in one transaction: siblings, children, follow-ups and other tasks, given
-- as one array a property, in that order of kinds (`sibling`, `child`, `follow_up`, `task`). With open children the task
-- waits. If one of them can't be made, none is, and the attempt has failed: the first that can't be, says why. A stale or
-- repeated settle, and one of a task whose end is asked for, makes nothing. The answer is as that of `settle`.
--
-- `p_order`: how the children run. `p_whens`: what follow-ups wait for (`settled`, `completed`). `p_ids`: numbers taken before.
--
-- Locks the family (shared), the keys of follow-ups, the task; then, if there are siblings, the fan-out of its parent; then what
-- `make_follow_up` and `ended` lock.

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
    p_ids bigint[] default '{}'
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
    v_sibling integer := coalesce(array_position(p_kinds, 'child'), array_position(p_kinds, 'follow_up'),
        array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
    v_child integer := coalesce(array_position(p_kinds, 'follow_up'), array_position(p_kinds, 'task'),
        cardinality(p_kinds) + 1) - 1;
    v_follow_up integer := coalesce(array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
    v_made integer := 0;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_settles(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}');
    perform kinfolk.require_made(p_order, p_kinds, p_whens, p_ids);
    perform kinfolk.require_tasks(p_kinds, p_commands, p_payloads, p_priorities, p_delays_us, p_keys, p_scopes,
        p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, kinfolk.made_max());
    select r.id, r.place, q.name as queue, least(q.depth_limit, kinfolk.depth_max()) as depth_limit
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task;
    perform kinfolk.lock_families(array[v_root.id], false);
    perform kinfolk.lock_follow_up_keys(p_commands[v_child + 1:v_follow_up], p_keys[v_child + 1:v_follow_up]);

    -- point: made.begun
    select t.id, t.queue_id, t.parent_id, t.root_id, t.fan_out_id, t.depth, t.priority, t.slot,
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
            array[v_root.id], null) r;
        return;
    end if;

    -- point: made.locked
    -- What each of them is, by number, and the first that can't be made.
    select array_agg(i.command_id) as commands, array_agg(i.queue_id) as queues, array_agg(i.max_attempts) as max_attempts,
        array_agg(i.timeout_us) as timeouts_us, min(i.nth) filter (where i.why is not null) as refused,
        array_agg(distinct i.queue_id) as notify
    into v_items
    from (
        select g.nth, c.id as command_id, h.id as queue_id, coalesce(g.max_attempts, c.max_attempts::integer) as max_attempts,
            coalesce(g.timeout_us, c.timeout_us) as timeout_us,
            kinfolk.why_not(g.kind, v_task.parent_id, c.id, g.queue is null or q.id is not null, h.child_limit,
                v_task.depth, v_root.depth_limit) as why
        from unnest(p_kinds, p_commands, p_queues, p_max_attempts, p_timeouts_us)
            with ordinality as g(kind, command, queue, max_attempts, timeout_us, nth)
        left join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue
        left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
        order by g.nth
    ) i;
    if v_items.refused is not null then
        return query
        select r.answer, r.state
        from kinfolk.settle_refused(p_task, p_token, p_kinds[v_items.refused], p_commands[v_items.refused],
            p_queues[v_items.refused], v_root.id, v_now) r;
        return;
    end if;
    if cardinality(p_ids) = 0 then
        p_ids := array(select nextval('kinfolk.task_id') from generate_series(1, cardinality(p_kinds)));
    end if;

    if v_sibling > 0 then
        perform kinfolk.make_siblings(v_task.parent_id, v_task.fan_out_id, v_root.place, v_now, 1, v_sibling, p_ids,
            v_items.commands, v_items.queues, p_payloads, p_priorities, p_dues, p_delays_us, p_keys, p_scopes, p_windows_us,
            p_on_duplicates, v_items.max_attempts, v_items.timeouts_us, p_traces);
    end if;
    if v_child > v_sibling then
        v_made := kinfolk.make_children(p_task, v_root.id, v_task.depth + 1, p_task, 0, p_order <> 'together', v_task.priority,
            v_root.place, v_now, v_sibling + 1, v_child, p_ids, v_items.commands, v_items.queues, p_payloads, p_priorities,
            p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, v_items.max_attempts, v_items.timeouts_us,
            p_traces);
    end if;
    if v_made > 0 then
        insert into kinfolk.fan_out (id, task_id, root_id, depth, child_order, waits, total, held)
        values (p_task, p_task, v_root.id, v_task.depth, p_order::kinfolk.child_order, true, v_made,
            case when p_order = 'together' then 0 else v_made - 1 end);
    end if;
    for i in v_child + 1..v_follow_up loop
        perform kinfolk.make_follow_up(p_ids[i], v_root.id,
            -- A root that makes no children has settled with this very call.
            case when v_task.parent_id is null and v_made = 0 then 'completed'::kinfolk.state end,
            coalesce(p_whens[i], 'settled') = 'completed', v_items.commands[i], v_items.queues[i],
            coalesce(p_priorities[i], v_task.priority), v_root.place,
            coalesce(p_dues[i], v_now + coalesce(p_delays_us[i], 0) * interval '1 microsecond'), v_items.max_attempts[i],
            v_items.timeouts_us[i], p_traces[i], p_payloads[i], p_keys[i],
            coalesce(p_scopes[i], 'pending')::kinfolk.unique_scope, p_windows_us[i],
            coalesce(p_on_duplicates[i], 'keep')::kinfolk.on_duplicate, v_now);
    end loop;
    -- Not more at once than an enqueue takes.
    for i in v_follow_up + 1..cardinality(p_kinds) by kinfolk.enqueue_batch_max() loop
        perform kinfolk.enqueue_rows(p_ids[i:j], p_commands[i:j], p_payloads[i:j], p_queues[i:j], p_priorities[i:j],
            p_dues[i:j], p_delays_us[i:j], p_keys[i:j], p_scopes[i:j], p_windows_us[i:j], p_on_duplicates[i:j],
            p_max_attempts[i:j], p_timeouts_us[i:j], p_traces[i:j])
        from (select least(i + kinfolk.enqueue_batch_max() - 1, cardinality(p_kinds)) as j) last;
    end loop;

    -- point: made.written
    perform kinfolk.notify_queues(v_items.notify, false);
    if v_made = 0 then
        return query
        select r.answer, r.state
        from kinfolk.settle_rest(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}', '{}', v_now,
            array[v_root.id], null) r;
        return;
    end if;
    perform kinfolk.wait_for_children(p_task, p_result, v_now);
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
    p_task bigint, p_token uuid, p_kind text, p_command text, p_queue text, p_root bigint, p_now timestamptz
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
    select t.parent_id, t.depth, c.id as command_id, p_queue is null or q.id is not null as has_queue, h.name as queue,
        h.child_limit, rq.name as root_queue, least(rq.depth_limit, kinfolk.depth_max()) as depth_limit
    into v_item
    from kinfolk.task t
    join kinfolk.task r on r.id = p_root
    join kinfolk.queue rq on rq.id = r.queue_id
    left join kinfolk.command c on c.name = p_command
    left join kinfolk.queue q on q.name = p_queue
    left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
    where t.id = p_task;
    v_why := kinfolk.why_not(p_kind, v_item.parent_id, v_item.command_id, v_item.has_queue, v_item.child_limit, v_item.depth,
        v_item.depth_limit);
    v_name := case v_why
        when 'no_parent' then p_task::text
        when 'unknown_command' then p_command
        when 'unknown_queue' then p_queue
        when 'no_children' then v_item.queue
        else v_item.root_queue
    end;
    return query
    select r.answer, r.state
    from kinfolk.settle_rest(array[p_task], array[p_token],
        array[case when v_why in ('unknown_command', 'unknown_queue') then 'failed' else 'never' end], '{}',
        array[kinfolk.failure_refused(v_why, v_name)], '{}', '{}', p_now, array[p_root], null) r;
end
$$;

-- Why a task of this kind can't be made by one of this depth, if it can't. The order is that of every store.
create or replace function kinfolk.why_not(
    p_kind text, p_parent bigint, p_command integer, p_has_queue boolean, p_child_limit integer, p_depth integer,
    p_depth_limit integer
) returns text
language sql immutable
as $$
    select case
        when p_kind = 'sibling' and p_parent is null then 'no_parent'
        when p_command is null then 'unknown_command'
        when not p_has_queue then 'unknown_queue'
        when p_kind not in ('sibling', 'child') then null
        when p_child_limit = 0 then 'no_children'
        when p_depth + (p_kind = 'child')::integer > p_depth_limit then 'too_deep'
    end
$$;

-- Refuses a whole settle if what it makes is given in a way that no store would keep.
create or replace function kinfolk.require_made(p_order text, p_kinds text[], p_whens text[], p_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before integer := 0;
    v_kind integer;
begin
    if p_order is null or p_order not in ('together', 'in_order', 'in_order_until_failure') then
        perform kinfolk.refuse('KF001', format('unknown order %L', p_order),
            'there are: together, in_order, in_order_until_failure');
    end if;
    foreach v_kind in array array(
        select coalesce(array_position('{sibling,child,follow_up,task}'::text[], k), 0) from unnest(p_kinds) k)
    loop
        if v_kind < greatest(v_before, 1) then
            perform kinfolk.refuse('KF001', 'the kinds of what was made are unknown or not in order',
                'first each sibling, then each child, then each follow_up, then each task');
        end if;
        v_before := v_kind;
    end loop;
    if exists (select from unnest(p_whens) w where w not in ('settled', 'completed')) then
        perform kinfolk.refuse('KF001', 'a follow-up waits for something unknown', 'there are: settled, completed');
    end if;
    if cardinality(p_ids) not in (0, cardinality(p_kinds)) then
        perform kinfolk.refuse('KF001', 'numbers and kinds must be as many');
    end if;
end
$$;
