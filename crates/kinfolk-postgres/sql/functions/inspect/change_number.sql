-- A number that differs from the one before if anything was committed since, anywhere on this server. It is a digest of the
-- snapshot: which transactions have ended and which have not. Reads no table and locks nothing.

create or replace function kinfolk.change_number() returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    select hashtextextended(pg_current_snapshot()::text, 0)
$$;
