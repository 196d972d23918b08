-- Frees the slots of tasks that the caller has locked and moved, except in groups with `hold`, where a task keeps its slot
-- until it is terminal. A settle never takes a group's admission lock. This function appends the freed (task, key) pairs to
-- `freed`. The next claim that holds the lock removes those holders and looks at their keys again. Wakes the queues on which
-- a task waits for one of these keys. Only for tasks with `holds_slots`; for any other task a hint would mean nothing.
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
