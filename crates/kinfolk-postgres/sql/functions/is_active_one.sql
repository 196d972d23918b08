-- As `is_active`, for one command.

create or replace function kinfolk.is_active(command text) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select kinfolk.is_active(array[command]) $$;
