-- Refuses a registration of the functions around a command that its caller may not ask for, or that nothing would run. `p_has_more`:
-- it says something that needs a handler; `p_is_told`: a function is told how attempts ended.

create or replace function kinfolk.require_functions(
    p_caller name, p_command text, p_handler text, p_has_more boolean, p_is_told boolean
) returns void
language plpgsql stable
as $$
begin
    -- They will run with the rights of the worker, which are more than a producer's.
    if not pg_has_role(p_caller, 'kinfolk_operator', 'usage') then
        raise exception using errcode = '42501',
            message = format('%I may not say which function handles command %s', p_caller, p_command),
            hint = 'have it registered by a member of kinfolk_operator';
    elsif p_has_more and coalesce(p_handler, (select c.handler from kinfolk.command c where c.name = p_command), '') = '' then
        raise exception using errcode = 'KF001',
            message = format('command %s has hooks, a statement_timeout or no envelope, but no handler', p_command),
            hint = 'name the handler with them';
    elsif p_is_told and p_command = 'db_function' then
        raise exception using errcode = 'KF001',
            message = 'command db_function can''t have on_success or on_error: it is what runs them',
            hint = 'give them to the commands whose ends are to be told';
    elsif p_is_told and not exists (select from kinfolk.command c where c.name = 'db_function' and c.handler = 'db_function') then
        raise exception using errcode = 'KF001',
            message = format('command %s has on_success or on_error, but nothing would run it', p_command),
            hint = 'register the command that does first: kinfolk.register_command(''db_function'', handler => ''db_function'')';
    end if;
end
$$;
