-- Adds running tasks as holders of their keys in these groups, where neither the task nor an ancestor with `hold` holds a
-- slot. They may exceed the limit; then no task starts until there are fewer. The caller has the admission locks, and no task
-- moves meanwhile (`lock_tasks_using`). Reads all of `task_running`.
create or replace function kinfolk.count_running(p_groups integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_need record;
begin
    -- An old hint would take them off again.
    perform kinfolk.add_ready_keys(0, p_groups, kinfolk.clock());
    select array_agg(n.group_id) as groups, array_agg(n.key) as keys, array_agg(n.id) as tasks
    into v_need
    from (
        select t.id, cg.group_id, g.hold, case when cg.name = 'total' then '' else t.keys ->> cg.name end as key
        from kinfolk.task t
        join kinfolk.command_group cg on cg.command_id = t.command_id
        join kinfolk.slot_group g on g.id = cg.group_id
        where t.state = 'running'
            and cg.group_id = any (p_groups)
    ) n
    where n.key is not null
        and not case
            when n.hold then kinfolk.family_holds_slot(n.id, n.group_id, n.key)
            else kinfolk.holds_slot(n.id, n.group_id, n.key)
        end;
    if v_need.tasks is null then
        return;
    end if;
    update kinfolk.task t
    set holds_slots = true
    where t.id = any (v_need.tasks)
        and not t.holds_slots;
    perform kinfolk.take_slots(v_need.groups, v_need.keys, v_need.tasks);
end
$$;
