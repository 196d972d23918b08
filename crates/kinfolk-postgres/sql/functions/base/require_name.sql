-- Refuses a name that no store would keep.

create or replace function kinfolk.require_name(kind text, name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if name is null or name = '' then
        raise exception using errcode = 'KF001', message = format('the %s name is empty', kind),
            hint = 'give it a name';
    elsif octet_length(name) > kinfolk.name_bytes_max() then
        raise exception using errcode = 'KF001',
            message = format('%s name %L is longer than %s bytes', kind, left(name, 60), kinfolk.name_bytes_max());
    elsif name !~ '^[A-Za-z0-9_.:/-]+$' then
        raise exception using errcode = 'KF001', message = format('%s name %L can''t be used', kind, name),
            hint = 'only letters, digits and _ - . : / may stand in it';
    end if;
    return true;
end
$$;
