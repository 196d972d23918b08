-- Calls the function that handles a task between its hooks, as the caller of this. Answers its result. If `before` answers something,
-- that is the payload of the handler; `after` gets the task's own payload. `resumed`: the results of a fan-out, for the function that
-- goes on after it.
--
-- Has no search path of its own, as `run_function` has none. Locks nothing itself.

create or replace function kinfolk.call_handler(
    handler text, before text, after text, payload jsonb, envelope boolean, resumed jsonb default null
) returns jsonb
language plpgsql volatile
as $$
declare
    v_payload jsonb := payload;
    v_result jsonb;
begin
    if handler is null then
        perform kinfolk.give_up('the payload names no function: it needs a member db_function, such as "app.supervise"');
    end if;
    if before is not null then
        v_payload := coalesce(kinfolk.call_function(before, payload, envelope), payload);
    end if;
    if resumed is not null then
        v_payload := resumed operator(pg_catalog.||) pg_catalog.jsonb_build_object('payload', v_payload);
    end if;
    v_result := kinfolk.call_function(handler, v_payload, envelope);
    if after is not null then
        perform kinfolk.call_function(after, payload, envelope);
    end if;
    return v_result;
end
$$;
