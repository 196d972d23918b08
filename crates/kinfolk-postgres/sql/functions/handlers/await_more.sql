-- Has a task whose function has fanned out wait again, for a fan-out of so many sub-tasks that is not settled. If the time of the
-- fan-out is up, it is given up, and the task is pending at once: what is called then runs in a transaction of its own, without the
-- family's lock. Raises KF012 where the suspension was not recorded. Locks what `expire` and `suspend` lock.

create or replace function kinfolk.await_more(p_task bigint, p_token uuid, p_fan_out bigint, p_total integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_end record;
begin
    perform from kinfolk.expire(p_task, p_token, p_fan_out);
    select s.*
    into v_end
    from kinfolk.suspend(p_task, p_token, row(array[p_fan_out], array[p_total], null, '{}')::kinfolk.awaits) s;
    if v_end.answer <> 'recorded' or v_end.state not in ('waiting', 'pending') then
        perform kinfolk.require_done(p_task, v_end.answer, v_end.state);
    end if;
end
$$;
