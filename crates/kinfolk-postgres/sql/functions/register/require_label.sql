-- Refuses a path that no label can stand at. Null and '' are fine: the one leaves what is registered, the other takes it away.

create or replace function kinfolk.require_label(p_label text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_label <> ''
        and (octet_length(p_label) > kinfolk.label_path_bytes_max()
            or '' = any (string_to_array(p_label, '.'))
            or cardinality(string_to_array(p_label, '.')) > kinfolk.json_depth_max())
    then
        perform kinfolk.refuse('KF001', format('%L is no path of a payload', left(p_label, 60)),
            format('write keys with dots between them, such as customer.name, in at most %s bytes',
                kinfolk.label_path_bytes_max()));
    end if;
end
$$;
