-- An interval as microseconds; what is too long for a number is as long as can be said.

create or replace function kinfolk.micros(span interval) returns bigint
language sql immutable parallel safe
as $$
    select case when span is not null then
        greatest(least(extract(epoch from span) * 1000000, 9223372036854775807), -9223372036854775807) end::bigint
$$;
