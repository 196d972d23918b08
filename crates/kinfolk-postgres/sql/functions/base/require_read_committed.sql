-- A function that decides must see what others have committed up to its locks: only `read committed` does.

create or replace function kinfolk.require_read_committed() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception using errcode = 'KF005',
            message = format('this needs a transaction of isolation level read committed, not %s',
                current_setting('transaction_isolation')),
            hint = 'begin isolation level read committed';
    end if;
end
$$;
