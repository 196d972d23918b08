-- The function that a payload names under a member, such as `db_function` or `error_handler`; null where it names none. A member that is
-- no text is refused. `find_handler` says whether there is such a function, and its grants say whether it may be called.

create or replace function kinfolk.named_in(payload jsonb, member text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(jsonb_typeof(payload -> member), 'null') not in ('string', 'null') then
        raise exception using errcode = 'KF001', message = format('%s in the payload is no text', member),
            hint = 'write the name of a function, as schema.name';
    end if;
    return nullif(payload ->> member, '');
end
$$;
