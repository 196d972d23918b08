-- `find_handler` for a role that registers the handler: a role that may not execute a function may not have a worker call it. A name
-- without a schema stands for a built-in handler of the program `kinfolk`. The payload names the functions that such a handler calls,
-- and the worker's rights decide. Locks nothing.
create or replace function kinfolk.find_own_handler(p_caller name, p_name text, p_hook boolean, out call_name text, out kind text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_found record;
begin
    if p_name is null or p_name = '' then
        return;
    elsif not p_hook and p_name in ('db_function', 'email', 'sms', 'http') then
        call_name := p_name;
        kind := 'built_in';
        return;
    end if;
    select f.* into v_found from kinfolk.find_handler(p_name, p_hook) f;
    if not has_function_privilege(p_caller, v_found.routine, 'execute') then
        raise exception using errcode = '42501', message = format('%I may not execute %s', p_caller, v_found.call_name),
            hint = 'grant execute on it to the role that registers it';
    end if;
    call_name := v_found.call_name;
    kind := v_found.kind;
end
$$;
