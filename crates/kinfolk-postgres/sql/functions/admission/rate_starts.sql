-- How many may start now under a rate of which this much is spent: `kinfolk_core::admit::starts`.
create or replace function kinfolk.rate_starts(
    p_interval_us bigint, p_burst integer, p_spent_until timestamptz, p_now timestamptz
) returns bigint
language sql immutable
as $$
    select greatest(
        p_burst * p_interval_us
            - greatest(coalesce((extract(epoch from p_spent_until - p_now) * 1000000)::bigint, 0), 0),
        0) / p_interval_us
$$;
