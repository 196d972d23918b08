-- The failure of a parent that ends in this state with its last child. `p_outcome`, `p_failure`: how its own work ended. `p_failed`,
-- `p_total`: its spawned children. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.joined_failure(
    p_state kinfolk.state, p_outcome kinfolk.state, p_failure jsonb, p_failed bigint, p_total bigint
) returns jsonb
language sql immutable
as $$
    select case p_state
        when 'cancelled' then kinfolk.failure_cancelled()
        when 'failed' then case when p_outcome = 'failed' then p_failure else kinfolk.failure_children(p_failed, p_total) end
    end
$$;
