-- Microseconds as an interval, and an interval as microseconds; what is too long for either is as long as can be said.

create or replace function kinfolk.span(us bigint) returns interval
language sql immutable parallel safe
as $$
    select case when us is not null then greatest(least(us, 9000000000000000000), -9000000000000000000) end
        * interval '1 microsecond'
$$;

create or replace function kinfolk.micros(span interval) returns bigint
language sql immutable parallel safe
as $$
    select case when span is not null then
        greatest(least(extract(epoch from span) * 1000000, 9223372036854775807), -9223372036854775807) end::bigint
$$;
