-- Since when the database server runs: a lease that was last renewed before that says nothing about its worker.

create or replace function kinfolk.server_started_at() returns timestamptz
language sql stable
as $$ select pg_catalog.pg_postmaster_start_time() $$;
