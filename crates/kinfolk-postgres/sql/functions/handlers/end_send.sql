-- The part after a provider was called: tells the `success_handler` or the `error_handler` that the payload names, and settles the task,
-- in one transaction: the fact and the end of the task are one. `failure` is null if it went well; `answer` is what the provider said.
-- A failure that an `error_handler` has taken completes the task, with the failure as its result, and is appended to the error log.
-- Answers the state that the task is in then. With `wake_later` it wakes no worker: the caller does that after the commit (`put_off_wakes`).
--
-- Runs as its caller, whose grants decide what it may call. Locks what `begin_handling` and `finish` lock.

create or replace function kinfolk.end_send(
    task bigint, token uuid, answer jsonb, failure jsonb, wake_later boolean default false
) returns text
language plpgsql volatile
as $$
declare
    v_handled record;
    v_handler text;
    v_result jsonb := answer;
begin
    if wake_later then
        perform kinfolk.put_off_wakes();
    end if;
    select e.* into v_handled from kinfolk.begin_handling(task, token) e;
    if failure is null then
        v_handler := kinfolk.named_in(v_handled.payload, 'success_handler');
        if v_handler is not null then
            perform kinfolk.call_function(v_handler, pg_catalog.jsonb_build_object(
                'original_payload', v_handled.payload, 'worker_payload', answer), v_handled.envelope);
        end if;
    else
        v_handler := kinfolk.named_in(v_handled.payload, 'error_handler');
        perform kinfolk.call_function(v_handler, pg_catalog.jsonb_build_object(
            'original_payload', v_handled.payload, 'error', failure operator(pg_catalog.->) 'message',
            'failure', failure), v_handled.envelope);
        perform kinfolk.log_error(task, token, failure);
        v_result := pg_catalog.jsonb_build_object('failure', failure);
    end if;
    set constraints all immediate;
    return kinfolk.finish(task, token, v_result, case when failure is null then v_handled.on_success end);
end
$$;
