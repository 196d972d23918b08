-- Not now: the task is run again after this span. Costs no attempt.
create or replace function kinfolk.snooze(span interval) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.end_handler('KF020', 'snoozed', span);
end
$$;
