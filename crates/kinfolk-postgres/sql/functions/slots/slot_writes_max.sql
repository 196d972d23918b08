-- How many writes a page of slots gets before it gets another number.
create or replace function kinfolk.slot_writes_max() returns integer
language sql immutable
as $$ select 128 $$;
