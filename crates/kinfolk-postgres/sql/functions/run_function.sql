-- Calls a function or procedure of the user's with a payload, as the caller of this: its own rights decide. What is
-- called is a name from the catalogue, never text that came with a task.
--
-- None of these has a search path of its own: the user's code runs under the session's. It is put back after that code, and
-- operators are named with their schema: code that runs with fewer rights must not choose what these call.

create or replace function kinfolk.run_function(name text, payload jsonb) returns jsonb
language plpgsql volatile
as $$
declare
    v_path text := pg_catalog.current_setting('search_path');
    v_routine record;
    v_answer jsonb;
begin
    select f.call_name, f.kind, f.has_answer into v_routine from kinfolk.find_handler(name, false) f;
    if v_routine.kind operator(pg_catalog.=) 'procedure' then
        if v_routine.has_answer then
            execute pg_catalog.format('call %s($1)', v_routine.call_name) into v_answer using payload;
        else
            execute pg_catalog.format('call %s($1)', v_routine.call_name) using payload;
        end if;
    elsif v_routine.has_answer then
        execute pg_catalog.format('select %s($1)', v_routine.call_name) into v_answer using payload;
    else
        execute pg_catalog.format('select %s($1)', v_routine.call_name) using payload;
    end if;
    if pg_catalog.current_setting('search_path') operator(pg_catalog.<>) v_path then
        perform pg_catalog.set_config('search_path', v_path, false);
    end if;
    return v_answer;
end
$$;

-- Runs the function that handles a task, its hooks, and the settle, all in one transaction: what it did and that it is
-- done are one. Answers the state that the task is in then: completed, or waiting for its children.
create or replace function kinfolk.run_task(task bigint, token uuid) returns text
language plpgsql volatile
as $$
declare
    v_handled record;
    v_result jsonb;
begin
    select e.* into v_handled from kinfolk.enter(task, token) e;
    if v_handled.kind operator(pg_catalog.<>) 'function' then
        raise exception using
            errcode = 'KF010',
            message = pg_catalog.format('%s is a procedure, which is called by itself', v_handled.handler);
    end if;
    v_result := kinfolk.call_handler(v_handled.handler, v_handled.before, v_handled.after, v_handled.payload,
        v_handled.envelope);
    -- What was put off to the end of the transaction must neither run nor fail after the settle.
    set constraints all immediate;
    return kinfolk.finish(task, token, v_result, v_handled.on_success);
end
$$;

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
    select e.* into v_handled from kinfolk.enter(task, token, true) e;
    payload := v_handled.payload;
    if v_handled.before is not null then
        payload := coalesce(kinfolk.call_function(v_handled.before, payload, v_handled.envelope), payload);
    end if;
    select f.call_name, f.has_answer into call_name, has_answer from kinfolk.find_handler(v_handled.handler, false) f;
end
$$;

-- The part after a procedure: its hook and the settle, in one transaction.
create or replace function kinfolk.end_procedure(task bigint, token uuid, result jsonb) returns text
language plpgsql volatile
as $$
declare
    v_handled record;
begin
    select h.* into v_handled from kinfolk.handling(task, token) h;
    if v_handled.envelope
        and pg_catalog.jsonb_typeof(result operator(pg_catalog.->) 'success') operator(pg_catalog.=) 'boolean'
    then
        result := kinfolk.open_envelope(v_handled.handler, result);
    end if;
    if v_handled.after is not null then
        perform kinfolk.call_function(v_handled.after, v_handled.payload, v_handled.envelope);
    end if;
    set constraints all immediate;
    return kinfolk.finish(task, token, result, v_handled.on_success);
end
$$;
