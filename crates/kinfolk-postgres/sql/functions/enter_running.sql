-- What a registration does for the tasks that run, or hold slots, while the groups of their command change: they stand still, and
-- hold slots where they belong afterwards. See `lock_declarations`.

-- Locks what runs of these commands, and of others that declare these groups, and all who hold slots of those that hold them for
-- families, and has whoever is about to move one of them commit before that: what it gives back is decided by the old
-- declaration, and what comes after this by the new one. The caller has the admission locks, so nothing starts.
--
-- Waits for one task at a time, and holds no other while it waits: whoever has one may need another. Reads `task_running`, all of it.
create or replace function kinfolk.hold_still(p_names text[], p_groups integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_commands integer[] := array(
        select c.id
        from kinfolk.command c
        where c.name = any (p_names)
        union
        select cg.command_id
        from kinfolk.command_group cg
        where cg.group_id = any (p_groups));
    v_tasks bigint[];
    v_locked bigint[];
    v_other bigint;
begin
    for v_try in 1..1000 loop
        v_tasks := array(
            select t.id
            from kinfolk.task t
            where t.state = 'running'
                and t.command_id = any (v_commands)
            union
            select h.task_id
            from kinfolk.slot_group g
            join kinfolk.slot s on s.group_id = g.id
            cross join lateral unnest(s.tasks) as h(task_id)
            where g.id = any (p_groups)
                and g.hold);
        begin
            v_locked := array(
                select t.id
                from kinfolk.task t
                where t.id = any (v_tasks)
                order by t.id
                for no key update skip locked);
            v_other := (
                select min(t.id)
                from kinfolk.task t
                where t.id = any (array(select unnest(v_tasks) except select unnest(v_locked))));
            if v_other is null then
                return;
            end if;
            raise lock_not_available;
        exception
            -- All of them are let go of here.
            when lock_not_available then
                null;
        end;
        begin
            perform from kinfolk.task t where t.id = v_other for no key update;
            raise lock_not_available;
        exception
            when lock_not_available then
                null;
        end;
    end loop;
    raise exception using errcode = 'KF007', message = 'tasks whose groups change are in other hands time and again',
        hint = 'try again in a moment';
end
$$;

-- Writes down what runs as holders of its keys in these groups, where it holds none and none above it does for the family.
-- They may be more than there are slots for: then nothing starts until they are fewer. The caller has the admission locks,
-- and the tasks do not move (`hold_still`). Reads `task_running`, all of it.
create or replace function kinfolk.enter_running(p_groups integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_need record;
begin
    -- An old note would take them off again.
    perform kinfolk.mark_keys(0, p_groups, kinfolk.clock());
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
            when n.hold then kinfolk.holds_slot(n.id, n.group_id, n.key)
            else kinfolk.holds_key(n.id, n.group_id, n.key)
        end;
    if v_need.tasks is null then
        return;
    end if;
    update kinfolk.task t
    set keyed = true
    where t.id = any (v_need.tasks)
        and not t.keyed;
    perform kinfolk.take_slots(v_need.groups, v_need.keys, v_need.tasks, false);
end
$$;

-- Has those tasks of a command that hold slots of a group for their families hold slots of another one instead, which takes its
-- place. The caller has the admission locks of both, and the tasks do not move.
create or replace function kinfolk.carry_over(p_command integer, p_from integer, p_to integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.mark_keys(0, array[p_from, p_to], kinfolk.clock());
    perform kinfolk.take_slots(array_agg(p_to), array_agg(h.key), array_agg(h.task_id), false)
    from kinfolk.slot s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_from
        and t.command_id = p_command;
end
$$;
