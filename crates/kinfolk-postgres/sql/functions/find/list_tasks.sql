-- A page of the tasks that match a filter, in its order, as they are shown.

create or replace function kinfolk.list_tasks(p_filter jsonb default '{}') returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_page record;
begin
    v_page := kinfolk.find_tasks(p_filter);
    return query select t.* from kinfolk.get_tasks(v_page.ids) t;
end
$$;
