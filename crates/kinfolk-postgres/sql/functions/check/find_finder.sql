-- Finds a finder, a function that adds to the findings of `doctor`, by its name (`schema.name`). Answers the name as it is to be called,
-- quoted where need be, or else why it can't be used. It runs as its own owner and can write nothing, so that `doctor` lends it no
-- rights. Locks nothing; reads the catalogue.

create or replace function kinfolk.find_finder(p_function text, out call_name text, out why text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_parts text[] := '{}';
    v_found record;
begin
    begin
        v_parts := parse_ident(left(p_function, kinfolk.function_bytes_max()));
    exception
        when invalid_parameter_value then
            null;
    end;
    select p.oid, n.nspname, p.proname, p.prosecdef, p.provolatile, n.oid as schema,
        exists (select from unnest(p.proconfig) c where c like 'search_path=%') as is_pinned,
        pg_get_function_result(p.oid) as answers
    into v_found
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where cardinality(v_parts) = 2
        and n.nspname = v_parts[1]
        and p.proname = v_parts[2]
        and p.pronargs = 0;
    why := case
        when v_found.oid is null then 'there is no such function without arguments'
        when v_found.answers <> 'TABLE(subject text, health text, found text, remedy text)'
        then 'it does not return table (subject text, health text, found text, remedy text)'
        when not v_found.prosecdef or not v_found.is_pinned then 'it is not security definer with a search_path of its own'
        when v_found.provolatile = 'v' then 'it is not stable'
        when not has_schema_privilege(v_found.schema, 'usage') or not has_function_privilege(v_found.oid, 'execute')
        then format('%I may not call it: grant it usage on the schema, and execute on the function', current_user)
    end;
    call_name := case when why is null then format('%I.%I', v_found.nspname, v_found.proname) end;
end
$$;
