-- A page of the tasks that match a filter, in its order, as they are shown.

create or replace function kinfolk.list_tasks(p_filter jsonb default '{}') returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    return query select t.* from kinfolk.find_tasks(p_filter) p cross join lateral kinfolk.get_tasks(p.ids) t;
end
$$;
