-- How long to wait after an attempt (1 is the first) of a task failed, in microseconds. Whole-number arithmetic, equal
-- to the digit in every store: the jitter comes from a hash of task and attempt.

create or replace function kinfolk.retry_delay(
    base_ms bigint, cap_ms bigint, jitter_pct integer, task bigint, attempt integer
) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select plain.us - reach.us + (2 * reach.us) / 1000003 * spread.n + ((2 * reach.us) % 1000003) * spread.n / 1000003
    from (select least(base_ms << least(greatest(attempt, 1) - 1, 31), cap_ms) * 1000 as us) plain
    cross join lateral (select plain.us / 100 * jitter_pct as us) reach
    cross join lateral (select ((abs(task) % 1000003) * 7919 + attempt::bigint * 104729) % 1000003 as n) spread
$$;
