-- Runs the function that handles a task, its hooks, and the settle, all in one transaction: what it did and that it is
-- done are one. Answers the state that the task is in then: completed, or waiting for its children; `suspended` where it has fanned
-- out, and is to be run again with the results. With `wake_later` it wakes no worker: the caller does that after the commit
-- (`put_off_wakes`).
create or replace function kinfolk.run_task(task bigint, token uuid, wake_later boolean default false) returns text
language plpgsql volatile
as $$
declare
    v_handled record;
    v_result jsonb;
begin
    if wake_later then
        perform kinfolk.put_off_wakes();
    end if;
    select e.* into v_handled from kinfolk.begin_handling(task, token) e;
    if v_handled.kind operator(pg_catalog.=) 'suspended' then
        return v_handled.kind;
    elsif v_handled.kind operator(pg_catalog.<>) 'function' then
        raise exception using
            errcode = 'KF010',
            message = pg_catalog.format('%s is a procedure, which is called by itself', v_handled.handler);
    end if;
    v_result := kinfolk.call_handler(v_handled.handler, v_handled.before, v_handled.after, v_handled.payload,
        v_handled.envelope, v_handled.resumed);
    -- What was put off to the end of the transaction must neither run nor fail after the settle.
    set constraints all immediate;
    return kinfolk.finish(task, token, v_result, v_handled.on_success);
end
$$;
