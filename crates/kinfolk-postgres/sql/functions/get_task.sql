-- One task as it is shown.

create or replace function kinfolk.get_task(p_id bigint) returns setof kinfolk.tasks
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select t.* from kinfolk.tasks t where t.id = p_id $$;
