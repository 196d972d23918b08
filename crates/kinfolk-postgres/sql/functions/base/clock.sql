-- The engine's clock: real time, not the transaction's start. Every engine call reads it once, after its locks.

create or replace function kinfolk.clock() returns timestamptz
language sql volatile
as $$ select pg_catalog.clock_timestamp() $$;
