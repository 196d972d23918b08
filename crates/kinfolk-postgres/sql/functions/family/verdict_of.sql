-- The verdict over an awaited fan-out with these counts, null if there is none yet: as `kinfolk_core::durable::Rule::verdict`
-- decides.
create or replace function kinfolk.verdict_of(
    p_rule text, p_parts integer, p_total integer, p_completed integer, p_failed integer, p_cancelled integer
) returns text
language sql immutable
as $$
    select case
        when p_rule is null then null
        when p_rule = 'fail_fast' and p_failed + p_cancelled > 0 then 'failed'
        when p_rule = 'threshold'
            and p_total - p_failed - p_cancelled < (p_total::bigint * p_parts + 999999) / 1000000 then 'failed'
        when p_completed + p_failed + p_cancelled = p_total then 'completed'
    end
$$;
