-- The span between two starts under a rate: `kinfolk_core::group::Rate::interval_us`.
create or replace function kinfolk.rate_interval(p_count integer, p_per_us bigint) returns bigint
language sql immutable
as $$ select p_per_us / p_count + (p_per_us % p_count <> 0)::integer $$;
