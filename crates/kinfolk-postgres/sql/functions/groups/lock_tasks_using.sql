-- Locks the running tasks of these commands and of other commands that declare these groups, and the holders of slots in
-- groups with `hold`. A call that moves one of these tasks commits before this function returns. So every release before it
-- follows the old declaration, and every later one the new declaration. The caller has the admission locks, so no task
-- starts.
--
-- Holds no task while it waits for another one (`lock_all_or_none`).
create or replace function kinfolk.lock_tasks_using(p_names text[], p_groups integer[]) returns void
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
begin
    for v_try in 1..1000 loop
        if kinfolk.lock_all_or_none(kinfolk.tasks_using(v_commands, p_groups)) then
            return;
        end if;
    end loop;
    raise exception using errcode = 'KF007', message = 'tasks whose groups change are in other hands time and again',
        hint = 'try again in a moment';
end
$$;
