-- The keys of the task that the caller handles, by the names of their groups: {"tenant": "acme"}.
create or replace function kinfolk.current_keys() returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select coalesce((kinfolk.handled()).keys, '{}') $$;
