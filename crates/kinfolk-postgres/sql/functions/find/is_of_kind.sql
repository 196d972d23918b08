-- Whether a value of a filter is of the kind that its part has, in the words of `require_filter`; not, if it has none.

create or replace function kinfolk.is_of_kind(p_value jsonb, p_kind text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return case
        when p_kind is null then false
        when p_kind = 'a text' then jsonb_typeof(p_value) = 'string'
        when p_kind = 'true or false' then jsonb_typeof(p_value) = 'boolean'
        when p_kind = 'a number' then jsonb_typeof(p_value) = 'number'
        when p_kind like 'the number of %' then
            jsonb_typeof(p_value) = 'number'
            and p_value::numeric between -9223372036854775808 and 9223372036854775807
            and p_value::numeric = trunc(p_value::numeric)
        when p_kind = 'a time' then jsonb_typeof(p_value) = 'string' and kinfolk.is_time(p_value #>> '{}')
        when p_kind = 'newest or oldest' then p_value in ('"newest"', '"oldest"')
        when p_kind like 'an array of states%' then
            jsonb_typeof(p_value) = 'array' and p_value <@ to_jsonb(enum_range(null::kinfolk.state))
        when p_kind like 'an object with texts%' then
            jsonb_typeof(p_value) = 'object' and not jsonb_path_exists(p_value, '$.* ? (@.type() != "string")')
        else
            jsonb_typeof(p_value -> 'path') = 'array' and p_value ? 'value'
            and not jsonb_path_exists(p_value, '$.path[*] ? (@.type() != "string")')
    end;
end
$$;
