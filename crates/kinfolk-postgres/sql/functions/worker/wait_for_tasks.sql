-- Waits until nobody else holds a row of a worker's tasks, but not for long. A call that holds one has its family's lock
-- already, if it needs that, so no call waits for this caller meanwhile.
create or replace function kinfolk.wait_for_tasks(p_worker uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform
    from kinfolk.task t
    where t.worker_id = p_worker
        and t.state = 'running'
    order by t.id
    for update;
exception
    when lock_not_available then
        return;
end
$$;
