-- Calls a function or procedure of the user's with a payload, as the caller of this: its own rights decide. It calls a
-- name from the catalogue, never text that came with a task.
--
-- Neither this function nor its callers have a search path of their own, because the user's code runs under the session's.
-- The path is put back after that code, and operators are named with their schema: code that runs with fewer rights must
-- not choose what the engine calls.

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
