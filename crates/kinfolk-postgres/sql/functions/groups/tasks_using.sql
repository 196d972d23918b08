-- The running tasks of these commands, and the holders of slots in those of these groups that have `hold`. Reads all of
-- `task_running`.
create or replace function kinfolk.tasks_using(p_commands integer[], p_groups integer[]) returns bigint[]
language plpgsql volatile
as $$
begin
    return array(
        select t.id
        from kinfolk.task t
        where t.state = 'running'
            and t.command_id = any (p_commands)
        union
        select h.task_id
        from kinfolk.slot_group g
        join kinfolk.slot_holder s on s.group_id = g.id
        cross join lateral unnest(s.tasks) as h(task_id)
        where g.id = any (p_groups)
            and g.hold);
end
$$;
