-- Appends hints: these tasks gave back their slots of these keys. The next call with the admission lock takes them.
create or replace function kinfolk.add_freed(p_groups integer[], p_keys text[], p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.freed (group_id, keys, tasks)
    select n.group_id, array_agg(n.key), array_agg(n.task_id)
    from unnest(p_groups, p_keys, p_tasks) as n(group_id, key, task_id)
    group by n.group_id;
end
$$;
