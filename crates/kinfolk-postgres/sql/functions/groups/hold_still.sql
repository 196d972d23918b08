-- Locks the running tasks of these commands and of other commands that declare these groups, and the holders of slots in
-- groups with `hold`. A call that moves one of these tasks commits before this function returns. So every release before it
-- follows the old declaration, and every later one the new declaration. The caller has the admission locks, so no task
-- starts.
--
-- Waits for one task at a time, and holds no other while it waits: the other call may need one of them.
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
        v_tasks := kinfolk.tasks_using(v_commands, p_groups);
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
