-- Removes the reservations of tasks that will not start. A hint frees the reserved room. The caller has locked these
-- tasks, or has the admission locks. Locks the reservations.
create or replace function kinfolk.drop_reservations(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (select from kinfolk.reserved r where r.task_id = any (p_tasks)) then
        return;
    end if;
    with gone as (
        delete from kinfolk.reserved r
        where r.task_id = any (p_tasks)
        returning r.group_id, r.key
    )
    insert into kinfolk.freed (group_id, keys, tasks)
    select g.group_id, array[g.key], '{}'
    from gone g;
end
$$;
