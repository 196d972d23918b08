-- Whether a JSON value is longer than that as canonical text. Looks closely only at one that could be.
create or replace function kinfolk.json_longer_than(value jsonb, bytes bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- No value's text is as much as eight times its size in memory.
    return value is not null and pg_column_size(value) * 8::bigint > bytes
        and octet_length(value::text) > bytes
        and kinfolk.json_bytes(value) > bytes;
end
$$;
