-- Closes the context of a procedure's session, and releases the handler's lock of the task (`begin_handling`).
create or replace function kinfolk.end_handling(p_task bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform set_config('kinfolk.task', '', false);
    perform set_config('kinfolk.token', '', false);
    perform pg_advisory_unlock(1263160908, hashint8(p_task));
end
$$;
