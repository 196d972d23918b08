-- Microseconds as an interval, and an interval as microseconds.

create or replace function kinfolk.span(us bigint) returns interval
language sql immutable parallel safe
as $$ select us * interval '1 microsecond' $$;

create or replace function kinfolk.micros(span interval) returns bigint
language sql immutable parallel safe
as $$ select (extract(epoch from span) * 1000000)::bigint $$;
