-- Removes the declaration of a group by a command, and the group itself when no other command declares it. The caller has its
-- admission lock.
create or replace function kinfolk.leave_group(p_command integer, p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from kinfolk.command_group cg
    where cg.command_id = p_command
        and cg.group_id = p_group;
    if not exists (select from kinfolk.command_group cg where cg.group_id = p_group) then
        perform kinfolk.erase_group(p_group);
        return;
    end if;
    perform kinfolk.add_freed(array_agg(p_group), array_agg(h.key), array_agg(h.task_id))
    from kinfolk.slot_holder s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_group
        and t.command_id = p_command;
    perform kinfolk.drop_reservations(array(
        select r.task_id
        from kinfolk.reserved r
        join kinfolk.task t on t.id = r.task_id
        where r.group_id = p_group
            and t.command_id = p_command));
    delete from kinfolk.ready_key m
    where m.group_id = p_group
        and m.command_id = p_command;
    perform kinfolk.open_blocked(p_group, p_command);
end
$$;
