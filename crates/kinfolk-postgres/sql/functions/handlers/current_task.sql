-- The number of the task that the caller handles; refused outside a handler (`handled`).

create or replace function kinfolk.current_task() returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select (kinfolk.handled()).id $$;
