-- How many candidates to read next, when this many may still start and `p_taken` of the last `p_size` did: twice the expected
-- need.
create or replace function kinfolk.next_size(p_size integer, p_left integer, p_taken integer) returns integer
language sql immutable
as $$
    select greatest(
        p_left,
        least(case p_taken when 0 then 8 * p_size else 2 * p_left * p_size / p_taken end, kinfolk.claim_batch_max()))
$$;
