-- Comes back when all that had committed before it is on the disk, and where else the server sends it before it answers.
create or replace function kinfolk.flush() returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    -- A commit is waited for only where it has written something.
    perform pg_logical_emit_message(true, 'kinfolk', '');
end
$$;
