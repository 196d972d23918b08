-- Runs tasks of a queue inside the caller's own transaction, so that a pipeline can be tried out in psql and rolled back:
--
--     begin; select kinfolk.enqueue(…); call kinfolk.process_tasks(queue => 'analytics'); …; rollback;
--
-- One call runs what could be claimed when it began, one after another, each handler in a subtransaction; what they made,
-- or what opened meanwhile, is left to the next call, and so is every family that stands behind such a one in line. With
-- `until_idle`, it goes on until nothing is left to claim, in the order of a worker that runs one task at a time. Tasks that are
-- due later stay where they are; with `skip_ahead`, the next of them is let run whenever nothing else is left, so that delays
-- and backoffs take no time. That is `run_now`, so it takes a caller who may do that.
--
-- It never commits, and never waits for a lock: what someone else is at is reported as busy (KF007). It claims under a
-- worker's row that lives and goes in this transaction. Handlers run as the caller. A procedure that commits fails here,
-- and no statement_timeout is set. Until the transaction ends it holds what it claimed, and the queue's admission.

create or replace procedure kinfolk.process_tasks(
    queue text default 'default', until_idle boolean default false, skip_ahead boolean default false
)
language plpgsql
as $$
declare
    v_worker uuid := pg_catalog.gen_random_uuid();
    v_patience text := pg_catalog.current_setting('lock_timeout');
    v_ran bigint;
begin
    if skip_ahead and not pg_catalog.has_function_privilege('kinfolk.run_now(bigint)', 'execute') then
        raise exception using
            errcode = '42501',
            message = pg_catalog.format('%I may not let tasks run before they are due', current_user),
            hint = 'leave skip_ahead out, or grant kinfolk_operator to the role that runs the test';
    end if;
    loop
        perform pg_catalog.set_config('lock_timeout', '10ms', true);
        v_ran := kinfolk.process_round(v_worker, queue, v_patience, until_idle or skip_ahead);
        exit when not until_idle and not skip_ahead;
        continue when v_ran operator(pg_catalog.>) 0;
        exit when not skip_ahead or not kinfolk.skip_ahead(queue);
    end loop;
    perform kinfolk.leave(v_worker);
    perform pg_catalog.set_config('lock_timeout', v_patience, true);
exception
    when lock_not_available then
        raise exception using
            errcode = 'KF007',
            message = pg_catalog.format('queue %s is busy: someone else is at it', queue),
            hint = 'try again in a moment, or on a database where no worker runs';
end
$$;
