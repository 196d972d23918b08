-- Failed for good: the payload or the rules of the business forbid it.
create or replace function kinfolk.give_up(message text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.end_handler('KF022', message, interval '0');
end
$$;
