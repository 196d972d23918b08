-- Finds the function or procedure that a name (`schema.name`) stands for, and refuses what can't handle a task. Answers
-- the name as it is to be called, quoted where need be; its kind; and whether it answers anything.
--
-- The catalogue is read directly: the owner of this schema needs no rights on the schemas of others. `p_hook`: it is to
-- run before or after a handler, so it must be a function.

create or replace function kinfolk.find_handler(
    p_name text, p_hook boolean, out call_name text, out kind text, out has_answer boolean, out routine oid
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_parts text[];
    v_found record;
begin
    if octet_length(p_name) > kinfolk.function_bytes_max() then
        raise exception using errcode = 'KF001',
            message = format('function name %L is longer than %s bytes', left(p_name, 60), kinfolk.function_bytes_max());
    end if;
    begin
        v_parts := parse_ident(regexp_replace(p_name, '\s*\(\s*jsonb\s*\)\s*$', ''));
    exception
        when invalid_parameter_value then
            v_parts := '{}';
    end;
    if cardinality(v_parts) <> 2 then
        raise exception using errcode = 'KF001', message = format('function name %L can''t be used', p_name),
            hint = 'write schema.function, without arguments';
    end if;

    select p.oid, n.nspname, p.proname, p.prokind, p.prorettype, p.proretset, p.prosecdef, p.proconfig, p.proargmodes
    into v_found
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = v_parts[1]
        and p.proname = v_parts[2]
        and p.pronargs = 1
        and p.proargtypes[0] = 'jsonb'::regtype;
    if not found then
        raise exception using errcode = 'KF001',
            message = coalesce((
                select format('%s takes (%s), and not one argument of type jsonb', p_name,
                    string_agg(pg_get_function_identity_arguments(p.oid), ') or (' order by p.oid))
                from pg_proc p
                join pg_namespace n on n.oid = p.pronamespace
                where n.nspname = v_parts[1]
                    and p.proname = v_parts[2]
                having count(*) > 0), format('there is no function %s(jsonb)', p_name)),
            hint = 'a handler takes one argument, the payload, of type jsonb';
    end if;
    if v_found.nspname in ('pg_catalog', 'information_schema', 'kinfolk') or v_found.nspname like 'pg\_%' then
        raise exception using errcode = 'KF001', message = format('%s(jsonb) is not yours to name as a handler', p_name),
            hint = 'write a function of your own, in a schema of your own';
    end if;
    if v_found.prokind = 'f' then
        if v_found.proretset or v_found.prorettype not in ('jsonb'::regtype, 'void'::regtype) then
            raise exception using errcode = 'KF001',
                message = format('%s(jsonb) returns %s%s', p_name, case when v_found.proretset then 'a set of ' end,
                    format_type(v_found.prorettype, null)),
                hint = 'a handler returns jsonb or void';
        end if;
    elsif v_found.prokind = 'p' and not p_hook then
        if v_found.prosecdef or v_found.proconfig is not null then
            raise exception using errcode = 'KF001',
                message = format('procedure %s(jsonb) is security definer or has set clauses', p_name),
                hint = 'such a procedure can''t commit; make it a function, or take that away';
        end if;
        if v_found.proargmodes is not null and v_found.proargmodes <> '{b}'::"char"[] then
            raise exception using errcode = 'KF001', message = format('procedure %s(jsonb) has output arguments', p_name),
                hint = 'declare its one argument as in or inout';
        end if;
    else
        raise exception using errcode = 'KF001',
            message = format('%s(jsonb) is not a function%s', p_name, case when not p_hook then ' or procedure' else '' end),
            hint = 'name a plain function';
    end if;
    call_name := format('%I.%I', v_found.nspname, v_found.proname);
    kind := case v_found.prokind when 'f' then 'function' else 'procedure' end;
    has_answer := case v_found.prokind
        when 'f' then v_found.prorettype = 'jsonb'::regtype
        else v_found.proargmodes is not null
    end;
    routine := v_found.oid;
end
$$;
