-- The version of this schema, for programs to compare with the one they were built for.

create or replace function kinfolk.schema_version() returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select coalesce(max(m.version), 0) from kinfolk.migration m $$;
