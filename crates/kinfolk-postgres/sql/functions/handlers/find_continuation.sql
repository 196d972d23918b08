-- The function that a handler names to go on, as it is to be called; null where it names none. The worker will call it, so the
-- handler must be allowed to execute it; and where the handler runs with other rights than the worker's, since it is `security
-- definer`, so must the function: code must not choose what runs with rights that it does not have itself.

create or replace function kinfolk.find_continuation(p_caller name, p_name text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_found record;
    -- The role that runs the handler, whatever its functions run as.
    v_worker name := coalesce(nullif(current_setting('role'), 'none')::name, session_user);
begin
    if p_name is null then
        return null;
    end if;
    select f.call_name, f.routine into v_found from kinfolk.find_handler(p_name, true) f;
    if not has_function_privilege(p_caller, v_found.routine, 'execute') then
        raise exception using errcode = '42501', message = format('%I may not execute %s', p_caller, v_found.call_name),
            hint = 'grant execute on it to the role that names it';
    elsif p_caller <> v_worker and not (select p.prosecdef from pg_proc p where p.oid = v_found.routine) then
        raise exception using errcode = '42501',
            message = format('%s would run with the rights of %I, and not with those of %I', v_found.call_name, v_worker, p_caller),
            hint = 'make it security definer, as the handler is';
    end if;
    return v_found.call_name;
end
$$;
