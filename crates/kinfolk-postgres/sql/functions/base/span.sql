-- Microseconds as an interval; a number that is too large becomes the longest interval: PostgreSQL 14 writes no more
-- than 2^31 hours.

create or replace function kinfolk.span(us bigint) returns interval
language sql immutable parallel safe
as $$
    select case when us is not null then greatest(least(us, 7700000000000000000), -7700000000000000000) end
        * interval '1 microsecond'
$$;
