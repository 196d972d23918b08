-- How many candidates to read next, where so many start still and `p_taken` of a page of `p_size` did: twice as many as
-- are needed if it goes on like that.
create or replace function kinfolk.next_size(p_size integer, p_left integer, p_taken integer) returns integer
language sql immutable
as $$
    select greatest(
        p_left,
        least(case p_taken when 0 then 8 * p_size else 2 * p_left * p_size / p_taken end, kinfolk.claim_batch_max()))
$$;
