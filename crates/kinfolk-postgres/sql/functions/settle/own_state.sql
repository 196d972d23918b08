-- Where the own work of a task has brought it when an attempt ended with this outcome. It is what `kinfolk_core::decide::settle`
-- decides. Without settings of its own, so that it is planned as a part of the query that asks.

create or replace function kinfolk.own_state(
    p_outcome text, p_is_cancelled boolean, p_attempt smallint, p_max_attempts smallint, p_failure jsonb
) returns kinfolk.state
language sql immutable
as $$
    select case
        when p_is_cancelled or p_outcome = 'cancelled' then 'cancelled'::kinfolk.state
        when p_outcome = 'done' then 'completed'::kinfolk.state
        when p_outcome = 'never' then 'failed'::kinfolk.state
        when p_outcome = 'failed' and (p_attempt >= p_max_attempts or p_failure ->> 'kind' = 'validation') then 'failed'::kinfolk.state
        else 'pending'::kinfolk.state
    end
$$;
