-- Whether a text can be read as a moment.

create or replace function kinfolk.is_time(p_text text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return p_text::timestamptz is not null;
exception
    when data_exception then
        return false;
end
$$;
