-- The part before a procedure: opens the context for its session. Answers how to call it, with what, and whether that
-- answers anything.
create or replace function kinfolk.begin_procedure(
    task bigint, token uuid, out call_name text, out has_answer boolean, out payload jsonb
)
language plpgsql volatile
as $$
declare
    v_handled record;
begin
    select e.* into v_handled from kinfolk.begin_handling(task, token, true) e;
    payload := v_handled.payload;
    if v_handled.before is not null then
        payload := coalesce(kinfolk.call_function(v_handled.before, payload, v_handled.envelope), payload);
    end if;
    select f.call_name, f.has_answer into call_name, has_answer from kinfolk.find_handler(v_handled.handler, false) f;
end
$$;
