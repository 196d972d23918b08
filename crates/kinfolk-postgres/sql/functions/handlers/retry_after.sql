-- Failed; to be tried again after this span, if an attempt is left.
create or replace function kinfolk.retry_after(span interval, message text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.end_handler('KF021', message, span);
end
$$;
