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
    v_given kinfolk.made := row(p_kinds, p_ids, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us,
        p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens, p_slot_keys, p_inherits,
        null, null, null, null);
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
        from kinfolk.settle_rest(row(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}')::kinfolk.settles,
            '{}', v_now, array[v_root.id], v_root.parked_in) r;
        return;
    end if;

    -- point: made.locked
    select r.*
    into v_items
    from kinfolk.resolve_made(v_given, v_task.parent_id, v_task.fan_out_id, v_task.depth, v_root.depth_limit, v_task.keys,
        null) r;
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
    v_given := v_items.made;
    v_given.ids := p_ids;
    v_made := kinfolk.make_all(p_task, v_root.id, v_root.place, true, p_order, v_given, v_now);

    if v_items.keys is not null then
        perform kinfolk.give_keys(p_ids, v_items.keys);
    end if;

    -- point: made.written
    perform kinfolk.notify_queues(v_items.notify, false);
    if v_made = 0 then
        return query
        select r.answer, r.state
        from kinfolk.settle_rest(row(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}')::kinfolk.settles,
            '{}', v_now, array[v_root.id], v_root.parked_in) r;
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
