-- Makes what a handler made, in one order: siblings, children, follow-ups and other tasks, given as one array a property. Answers
-- how many children came to be. `p_command_ids` to `p_timeouts`: what `resolve_made` found for each of them, beside what was
-- given. `p_ends`: the task's own work is over with this, and it waits for its children, if any.
--
-- The caller has locked the family, the keys of follow-ups and the task. Locks the fan-outs that grow, then what
-- `make_follow_up` locks.

create or replace function kinfolk.make_all(
    p_task bigint, p_root bigint, p_place timestamptz, p_ends boolean, p_order text, p_kinds text[], p_ids bigint[],
    p_command_ids integer[], p_queue_ids integer[], p_attempts integer[], p_timeouts bigint[],
    p_commands text[], p_payloads jsonb[], p_queues text[], p_priorities integer[], p_dues timestamptz[],
    p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[], p_whens text[], p_now timestamptz
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task record;
    v_sibling integer := coalesce(array_position(p_kinds, 'child'), array_position(p_kinds, 'follow_up'),
        array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
    v_child integer := coalesce(array_position(p_kinds, 'follow_up'), array_position(p_kinds, 'task'),
        cardinality(p_kinds) + 1) - 1;
    v_follow_up integer := coalesce(array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
    v_made integer := 0;
    v_ended kinfolk.state;
begin
    select t.parent_id, t.fan_out_id, t.depth, t.priority into v_task from kinfolk.task t where t.id = p_task;
    if v_sibling > 0 then
        perform kinfolk.make_siblings(v_task.parent_id, v_task.fan_out_id, p_place, p_now, 1, v_sibling, p_ids,
            p_command_ids, p_queue_ids, p_payloads, p_priorities, p_dues, p_delays_us, p_keys, p_scopes, p_windows_us,
            p_on_duplicates, p_attempts, p_timeouts, p_traces);
    end if;
    if v_child > v_sibling then
        v_made := kinfolk.make_spawned(p_task, p_root, v_task.depth, p_order::kinfolk.child_order, p_ends, v_task.priority,
            p_place, p_now, v_sibling + 1, v_child, p_ids, p_command_ids, p_queue_ids, p_payloads, p_priorities,
            p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_attempts, p_timeouts, p_traces);
    end if;
    if v_follow_up > v_child and p_ends and v_made = 0 and v_task.parent_id is null then
        v_ended := kinfolk.end_of_root(p_task);
    end if;
    for i in v_child + 1..v_follow_up loop
        perform kinfolk.make_follow_up(p_ids[i], p_root, v_ended, coalesce(p_whens[i], 'settled') = 'completed',
            p_command_ids[i], p_queue_ids[i], coalesce(p_priorities[i], v_task.priority), p_place,
            coalesce(p_dues[i], p_now + coalesce(p_delays_us[i], 0) * interval '1 microsecond'), p_attempts[i],
            p_timeouts[i], p_traces[i], p_payloads[i], p_keys[i],
            coalesce(p_scopes[i], 'pending')::kinfolk.unique_scope, p_windows_us[i],
            coalesce(p_on_duplicates[i], 'keep')::kinfolk.on_duplicate, p_now);
    end loop;
    -- Not more at once than an enqueue takes.
    for i in v_follow_up + 1..cardinality(p_kinds) by kinfolk.enqueue_batch_max() loop
        perform kinfolk.enqueue_rows(p_ids[i:j], p_commands[i:j], p_payloads[i:j], p_queues[i:j], p_priorities[i:j],
            p_dues[i:j], p_delays_us[i:j], p_keys[i:j], p_scopes[i:j], p_windows_us[i:j], p_on_duplicates[i:j],
            p_max_attempts[i:j], p_timeouts_us[i:j], p_traces[i:j])
        from (select least(i + kinfolk.enqueue_batch_max() - 1, cardinality(p_kinds)) as j) last;
    end loop;
    return v_made;
end
$$;

-- How a root ends whose own work is done: not yet, while it has open children; badly, if one that it spawned before has failed.
create or replace function kinfolk.end_of_root(p_root bigint) returns kinfolk.state
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select case
        when sum(f.total - f.completed - f.failed - f.cancelled) > 0 then null
        when sum(f.failed) filter (where f.rule is null) > 0 then 'failed'
        else 'completed'
    end::kinfolk.state
    from kinfolk.fan_out f
    where f.task_id = p_root
$$;

-- What each of these tasks is, by number, and the first of them that can't be made by a task with this parent, of this fan-out
-- and of this depth. What has no kind is a child that the handler awaits. `keys`: theirs in the groups of their commands, with
-- what they take of their maker's; null if none has any. Most tasks that are made together are alike: then one is looked up for
-- all.
create or replace function kinfolk.resolve_made(
    p_parent bigint, p_fan_out bigint, p_depth integer, p_depth_limit integer, p_kinds text[], p_commands text[],
    p_queues text[], p_max_attempts integer[], p_timeouts_us bigint[], p_slot_keys jsonb[], p_inherits boolean[],
    p_maker_keys jsonb, p_maker_attempts integer,
    out commands integer[], out queues integer[], out max_attempts integer[], out timeouts_us bigint[], out refused integer,
    out notify integer[], out keys jsonb[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(p_commands);
    -- An array that is empty says nothing of any of them.
    v_attempts boolean := cardinality(p_max_attempts) > 0;
    v_timeouts boolean := cardinality(p_timeouts_us) > 0;
    v_alike boolean := v_many > 0 and p_commands[1] = all (p_commands)
        and p_kinds[1] = all (p_kinds) and cardinality(p_kinds) in (0, v_many)
        and p_queues[1] = all (p_queues) and cardinality(p_queues) in (0, v_many)
        and (not v_attempts or kinfolk.is_full(p_max_attempts, v_many))
        and (not v_timeouts or kinfolk.is_full(p_timeouts_us, v_many))
        and cardinality(p_slot_keys) = 0
        and (cardinality(p_inherits) = 0 or p_maker_keys is null);
    v_sort record;
begin
    if v_alike is not true then
        -- Said of each: an aggregate that sorts, such as the last one, may turn the order of what comes in for the others, too.
        select array_agg(i.command_id order by i.nth), array_agg(i.queue_id order by i.nth),
            array_agg(i.max_attempts order by i.nth), array_agg(i.timeout_us order by i.nth),
            min(i.nth) filter (where i.why is not null), array_agg(distinct i.queue_id),
            case when count(i.keys) > 0 then array_agg(i.keys order by i.nth) end
        into commands, queues, max_attempts, timeouts_us, refused, notify, keys
        from (
            select g.nth::integer, s.command_id, s.queue_id, coalesce(g.max_attempts, s.max_attempts) as max_attempts,
                coalesce(g.timeout_us, s.timeout_us) as timeout_us, s.why,
                case
                    when g.inherits and p_maker_keys is not null
                    then kinfolk.inherited_keys(s.command_id, g.keys, p_maker_keys)
                    else nullif(g.keys, '{}')
                end as keys
            from unnest(p_commands, p_kinds, p_queues, p_max_attempts, p_timeouts_us, p_slot_keys, p_inherits)
                with ordinality as g(command, kind, queue, max_attempts, timeout_us, keys, inherits, nth)
            cross join lateral kinfolk.sort_made(p_parent, p_fan_out, p_depth, p_depth_limit, g.kind, g.command, g.queue,
                g.keys, p_maker_attempts) s
        ) i;
        return;
    end if;
    select s.*
    into v_sort
    from kinfolk.sort_made(p_parent, p_fan_out, p_depth, p_depth_limit, p_kinds[1], p_commands[1], p_queues[1],
        null, p_maker_attempts) s;
    if v_sort.why is not null then
        refused := 1;
    end if;
    commands := array_fill(v_sort.command_id, array[v_many]);
    queues := array_fill(v_sort.queue_id, array[v_many]);
    max_attempts := case when v_attempts then p_max_attempts else array_fill(v_sort.max_attempts, array[v_many]) end;
    timeouts_us := case when v_timeouts then p_timeouts_us else array_fill(v_sort.timeout_us, array[v_many]) end;
    notify := array[v_sort.queue_id];
end
$$;

-- What a task of this kind, command and queue and with these keys is, and why it can't be made, if it can't. One row. Where its
-- command declares no attempts, a child that is awaited has as many as its parent, `p_attempts`. Without
-- settings of its own, so that it is planned as a part of whoever asks.
create or replace function kinfolk.sort_made(
    p_parent bigint, p_fan_out bigint, p_depth integer, p_depth_limit integer, p_kind text, p_command text, p_queue text,
    p_keys jsonb, p_attempts integer
) returns table (command_id integer, queue_id integer, max_attempts integer, timeout_us bigint, why text)
language sql stable
as $$
    select c.id, h.id,
        coalesce(c.max_attempts, case when p_kind is null then p_attempts end, kinfolk.attempts_default()), c.timeout_us,
        kinfolk.why_not(coalesce(p_kind, 'awaited'), p_parent, p_fan_out, c.id, p_queue is null or q.id is not null,
            case when p_keys is not null then kinfolk.unknown_group(c.id, p_keys) end, h.child_limit, p_depth, p_depth_limit)
    from (select) one
    left join kinfolk.command c on c.name = p_command
    left join kinfolk.queue q on q.name = p_queue
    left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
$$;

-- Why a task of this kind can't be made by one of this depth, if it can't. The order is that of every store. A child that
-- its parent awaits has no siblings: it was asked for with the others, and no more are waited for.
create or replace function kinfolk.why_not(
    p_kind text, p_parent bigint, p_fan_out bigint, p_command integer, p_has_queue boolean, p_unknown_group text,
    p_child_limit integer,
    p_depth integer, p_depth_limit integer
) returns text
language sql immutable
as $$
    select case
        when p_kind = 'sibling' and (p_parent is null or p_fan_out <> p_parent) then 'no_parent'
        when p_command is null then 'unknown_command'
        when not p_has_queue then 'unknown_queue'
        when p_unknown_group is not null then 'unknown_group'
        when p_kind not in ('sibling', 'child', 'awaited') then null
        when p_child_limit = 0 then 'no_children'
        when p_depth + (p_kind <> 'sibling')::integer > p_depth_limit then 'too_deep'
    end
$$;
