-- The task that the caller handles: known from the context that `begin_handling` opened, and checked against the running row, since
-- anyone can set a variable. Refused outside a handler, and in one whose attempt was given to someone else.

create or replace function kinfolk.handled() returns kinfolk.task
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id bigint := nullif(current_setting('kinfolk.task', true), '')::bigint;
    v_token uuid := nullif(current_setting('kinfolk.token', true), '')::uuid;
    v_task kinfolk.task;
begin
    select t.*
    into v_task
    from kinfolk.task t
    where t.id = v_id
        and t.token = v_token
        and t.state = 'running';
    if not found then
        if v_id is null then
            raise exception using errcode = 'KF010', message = 'this is not inside a handler',
                hint = 'call it in a function that is registered as a handler, when a worker runs it; elsewhere use kinfolk.enqueue';
        end if;
        raise exception using errcode = 'KF010', message = format('task %s is no longer with this attempt', v_id);
    end if;
    return v_task;
end
$$;
