-- Gives the tasks of a command that hold slots of one group for their families slots of another group, which replaces it. The
-- caller has the admission locks of both, and no task moves meanwhile.
create or replace function kinfolk.carry_over(p_command integer, p_from integer, p_to integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.add_ready_keys(0, array[p_from, p_to], kinfolk.clock());
    perform kinfolk.take_slots(array_agg(p_to), array_agg(h.key), array_agg(h.task_id))
    from kinfolk.slot_holder s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_from
        and t.command_id = p_command;
end
$$;
