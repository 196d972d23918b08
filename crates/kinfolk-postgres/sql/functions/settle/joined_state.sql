-- Where a task goes whose own work has brought it to `p_own`: one that has ended waits for its open children, and fails with one
-- that it spawned. It is what `kinfolk_core::decide::join` decides. Without settings of its own, so that it is planned as a part
-- of the query that asks.

create or replace function kinfolk.joined_state(p_own kinfolk.state, p_open bigint, p_failed bigint) returns kinfolk.state
language sql immutable
as $$
    select case
        when p_own = 'pending' then p_own
        when p_open > 0 then 'waiting'::kinfolk.state
        when p_own = 'completed' and p_failed > 0 then 'failed'::kinfolk.state
        else p_own
    end
$$;
