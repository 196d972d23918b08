-- Gives up what is kept for tasks that will not start: their reservations, and the room for which they are ready. A hint tells the
-- keys. The caller has locked the tasks, and has not changed them yet.
create or replace function kinfolk.give_up_room(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    with gone as (
        delete from kinfolk.reserved r
        where r.task_id = any (p_tasks)
        returning r.group_id, r.key
    )
    insert into kinfolk.freed (group_id, keys, tasks)
    select g.group_id, array[g.key], '{}'::bigint[] from gone g
    union all
    select t.blocked_group, array[t.blocked_key], '{}'
    from kinfolk.task t
    where t.id = any (p_tasks)
        and t.gate::text = 'ready';
end
$$;
