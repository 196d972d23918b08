-- An interval as microseconds; one that is too long becomes the largest number.

create or replace function kinfolk.micros(span interval) returns bigint
language sql immutable parallel safe
as $$
    select case when span is not null then
        greatest(least(extract(epoch from span) * 1000000, 9223372036854775807), -9223372036854775807) end::bigint
$$;
