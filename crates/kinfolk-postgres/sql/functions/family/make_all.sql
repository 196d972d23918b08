-- Makes what a handler made, in one order: siblings, children, follow-ups and other tasks. Answers how many children
-- came to be. `p_ends`: the task's own work is over with this, and it waits for its children, if any.
--
-- The caller has locked the family, the keys of follow-ups and the task. Locks the fan-outs that grow, then what
-- `make_follow_up` locks.

create or replace function kinfolk.make_all(
    p_task bigint, p_root bigint, p_place timestamptz, p_ends boolean, p_order text, p_made kinfolk.made, p_now timestamptz
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task record;
    v_maker kinfolk.maker;
    v_sibling integer := coalesce(array_position(p_made.kinds, 'child'), array_position(p_made.kinds, 'follow_up'),
        array_position(p_made.kinds, 'task'), cardinality(p_made.kinds) + 1) - 1;
    v_child integer := coalesce(array_position(p_made.kinds, 'follow_up'), array_position(p_made.kinds, 'task'),
        cardinality(p_made.kinds) + 1) - 1;
    v_follow_up integer := coalesce(array_position(p_made.kinds, 'task'), cardinality(p_made.kinds) + 1) - 1;
    v_made integer := 0;
    v_ended kinfolk.state;
begin
    select t.parent_id, t.fan_out_id, t.depth, t.priority into v_task from kinfolk.task t where t.id = p_task;
    v_maker := row(p_task, p_root, v_task.depth, v_task.priority, p_place, p_now);
    if v_sibling > 0 then
        perform kinfolk.make_siblings(v_maker, v_task.parent_id, v_task.fan_out_id, v_sibling, p_made);
    end if;
    if v_child > v_sibling then
        v_made := kinfolk.make_spawned(v_maker, p_order::kinfolk.child_order, p_ends, v_sibling + 1, v_child, p_made);
    end if;
    if v_follow_up > v_child and p_ends and v_made = 0 and v_task.parent_id is null then
        v_ended := kinfolk.end_of_root(p_task);
    end if;
    for i in v_child + 1..v_follow_up loop
        perform kinfolk.make_follow_up(p_made.ids[i], p_task, p_root, v_ended,
            coalesce(p_made.whens[i], 'settled') = 'completed', p_made.command_ids[i], p_made.queue_ids[i],
            coalesce(p_made.priorities[i], v_task.priority), p_place, coalesce(p_made.dues[i], p_now + coalesce(p_made.delays_us[i], 0) * interval '1 microsecond'),
            p_made.attempts[i], p_made.timeouts[i], p_made.traces[i], p_made.payloads[i], p_made.keys[i],
            coalesce(p_made.scopes[i], 'pending')::kinfolk.unique_scope, p_made.windows_us[i],
            coalesce(p_made.on_duplicates[i], 'keep')::kinfolk.on_duplicate, p_now);
    end loop;
    -- Not more at once than an enqueue takes.
    for i in v_follow_up + 1..cardinality(p_made.kinds) by kinfolk.enqueue_batch_max() loop
        perform kinfolk.enqueue_rows(p_made.ids[i:j], p_made.commands[i:j], p_made.payloads[i:j], p_made.queues[i:j],
            p_made.priorities[i:j], p_made.dues[i:j], p_made.delays_us[i:j], p_made.keys[i:j], p_made.scopes[i:j],
            p_made.windows_us[i:j], p_made.on_duplicates[i:j], p_made.max_attempts[i:j], p_made.timeouts_us[i:j],
            p_made.traces[i:j])
        from (select least(i + kinfolk.enqueue_batch_max() - 1, cardinality(p_made.kinds)) as j) last;
    end loop;
    return v_made;
end
$$;
