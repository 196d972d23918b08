-- Frees the slots of tasks, which the caller has locked and moved, except for those that a task keeps until it is
-- terminal (`hold`). Leaves hints: the next claim that has the admission lock of a group takes them, and looks who waits
-- behind those keys. Wakes the queues on which someone waits now. Only for tasks with `holds_slots`: of a group that a task holds
-- no slot of, a hint says nothing.
--
-- Locks nothing. Reads `task_blocked`.

create or replace function kinfolk.release_slots(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.free_slots(array_agg(t.id), array_agg(t.command_id), array_agg(t.keys),
        array_agg(t.state >= 'completed'))
    from unnest(p_tasks) as g(id)
    cross join lateral (
        select t.id, t.command_id, t.keys, t.state
        from kinfolk.task t
        where t.id = g.id
        offset 0
    ) t;
end
$$;
