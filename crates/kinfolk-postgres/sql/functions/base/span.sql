-- Microseconds as an interval; what is too long for one is as long as can be said.

create or replace function kinfolk.span(us bigint) returns interval
language sql immutable parallel safe
as $$
    select case when us is not null then greatest(least(us, 9000000000000000000), -9000000000000000000) end
        * interval '1 microsecond'
$$;
