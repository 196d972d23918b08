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
        perform kinfolk.make_follow_up(p_ids[i], p_task, p_root, v_ended, coalesce(p_whens[i], 'settled') = 'completed',
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
