-- The part before a provider is called: checks the fence, and has the `before_handler` that the payload names make the message, in a
-- transaction of its own. Answers the message, whether the payload names an `error_handler`, which takes failures,
-- and the key under which a provider knows the message.
--
-- Runs as its caller, whose grants decide what it may call. Locks what `begin_handling` locks, until the end of the transaction.

create or replace function kinfolk.begin_send(task bigint, token uuid, out message jsonb, out is_told boolean, out key text)
language plpgsql volatile
as $$
declare
    v_handled record;
    v_before text;
begin
    select e.* into v_handled from kinfolk.begin_handling(task, token) e;
    v_before := kinfolk.named_in(v_handled.payload, 'before_handler');
    message := v_handled.payload;
    if v_before is not null then
        message := coalesce(kinfolk.call_function(v_before, v_handled.payload, v_handled.envelope), message);
    end if;
    key := kinfolk.send_key(task);
    is_told := kinfolk.named_in(v_handled.payload, 'error_handler') is not null;
end
$$;
