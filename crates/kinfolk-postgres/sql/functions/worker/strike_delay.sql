-- How long a task waits that has this many strikes, from 1 on: what `kinfolk_core::retry::strike_delay` says. Locks and reads nothing.

create or replace function kinfolk.strike_delay(strikes integer) returns interval
language sql immutable parallel safe
as $$
    select kinfolk.span(least(kinfolk.strike_delay_first_us() * (1::bigint << least(strikes - 1, 16)), kinfolk.strike_delay_max_us()))
$$;
