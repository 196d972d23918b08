-- Makes the tasks of a handler, in one order: siblings, children, follow-ups and other tasks. Returns the number of made
-- children. `p_ends`: the task's own work ends with this, and it waits for its children, if any. Awaited children come behind
-- these, and are not made here.
--
-- The caller has locked the family, the keys of follow-ups and the task. Locks what several follow-ups join (`lock_joined`), then
-- the fan-outs that grow, then what `make_follow_up` locks.

create or replace function kinfolk.make_all(p_maker kinfolk.maker, p_made kinfolk.made, p_order text, p_ends boolean)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_all integer := cardinality(p_made.kinds);
    v_follow_up integer := coalesce(array_position(p_made.kinds, 'task'), v_all + 1) - 1;
    v_child integer := coalesce(array_position(p_made.kinds, 'follow_up'), v_follow_up + 1) - 1;
    v_sibling integer := coalesce(array_position(p_made.kinds, 'child'), v_child + 1) - 1;
    v_made integer := 0;
    v_ended kinfolk.state;
begin
    if v_follow_up > v_child + 1 then
        perform kinfolk.lock_joined(p_maker, p_made, v_child + 1, v_follow_up);
    end if;
    if v_sibling > 0 then
        perform kinfolk.make_siblings(p_maker, v_sibling, p_made);
    end if;
    if v_child > v_sibling then
        v_made := kinfolk.make_spawned(p_maker, p_order::kinfolk.child_order, p_ends, v_sibling + 1, v_child, p_made);
    end if;
    if v_follow_up > v_child then
        if p_ends and v_made = 0 and p_maker.parent_id is null then
            v_ended := kinfolk.end_of_root(p_maker.task_id);
        end if;
        perform kinfolk.make_follow_up(p_maker, m.task, m.starts_when = 'completed', v_ended)
        from kinfolk.made_tasks(p_maker, p_made, v_child + 1, v_follow_up) m;
    end if;
    -- Not more at once than an enqueue takes.
    for i in v_follow_up + 1..v_all by kinfolk.enqueue_batch_max() loop
        perform kinfolk.enqueue_rows(p_made.ids[i:j], p_made.commands[i:j], p_made.payloads[i:j], p_made.queues[i:j],
            p_made.priorities[i:j], p_made.dues[i:j], p_made.delays_us[i:j], p_made.keys[i:j], p_made.scopes[i:j],
            p_made.windows_us[i:j], p_made.on_duplicates[i:j], p_made.max_attempts[i:j], p_made.timeouts_us[i:j],
            p_made.traces[i:j], p_slot_keys => coalesce(p_made.all_keys[i:j], '{}'))
        from (select least(i + kinfolk.enqueue_batch_max() - 1, v_all) as j) last;
    end loop;
    return v_made;
end
$$;
