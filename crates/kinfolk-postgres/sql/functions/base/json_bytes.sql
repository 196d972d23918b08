-- The length of a JSON value as canonical text: PostgreSQL's own text without the blanks behind commas and colons.

create or replace function kinfolk.json_bytes(value jsonb) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select octet_length(value::text) - coalesce(sum(
        case jsonb_typeof(part)
            when 'object' then greatest(2 * (select count(*) from jsonb_object_keys(part)) - 1, 0)
            when 'array' then greatest(jsonb_array_length(part) - 1, 0)
            else 0
        end), 0)::bigint
    from jsonb_path_query(value, 'strict $.**') part
$$;
