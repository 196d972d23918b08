-- Refuses a payload or a time that only a caller in SQL can bring: the library checks before it sends.
create or replace function kinfolk.require_given(p_payload jsonb, p_due timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if octet_length(p_payload::text) > 2 * kinfolk.payload_bytes_max() then
        raise exception using errcode = 'KF006',
            message = format('the payload is more than %s bytes', kinfolk.payload_bytes_max()),
            hint = 'keep the data elsewhere and send a reference', detail = octet_length(p_payload::text)::text;
    end if;
    if pg_column_size(p_payload) > kinfolk.json_depth_max()
        and jsonb_path_exists(p_payload, format('strict $.**{%s to last}', kinfolk.json_depth_max() + 1)::jsonpath)
    then
        raise exception using errcode = 'KF001',
            message = format('the payload is nested deeper than %s levels', kinfolk.json_depth_max()),
            hint = 'flatten it';
    end if;
    -- Programs read numbers of up to 308 digits.
    if octet_length(p_payload::text) > 308
        and jsonb_path_exists(p_payload, 'strict $.** ? (@.type() == "number" && (@ >= 1e308 || @ <= -1e308))')
    then
        raise exception using errcode = 'KF001',
            message = 'the payload has a number that is too large for programs to read it as a number',
            hint = 'send it as a string';
    end if;
    if p_due is not null and not (p_due > '0001-01-01' and p_due < '9999-01-01') then
        raise exception using errcode = 'KF001', message = format('due is %s, which is out of range', p_due),
            hint = 'give a time from the year 1 to 9998';
    end if;
    return true;
end
$$;
