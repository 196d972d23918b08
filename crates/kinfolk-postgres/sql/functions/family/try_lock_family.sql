-- Locks a family exclusively if that is possible at once, and says whether it was.
create or replace function kinfolk.try_lock_family(p_root bigint) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select pg_try_advisory_xact_lock(1263160905, hashint8(p_root) & 255) $$;
