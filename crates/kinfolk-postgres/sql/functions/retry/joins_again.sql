-- Whether a task that failed or was cancelled waits for its children again when it is revived, since its own work was done: of
-- one that failed its outcome says so; one that was cancelled has children, and its handler was never suspended. Locks
-- nothing. Reads `fan_out_task`.

create or replace function kinfolk.joins_again(
    p_task bigint, p_state kinfolk.state, p_outcome kinfolk.state, p_suspended boolean
) returns boolean
language sql stable
as $$
    select case
        when p_state = 'failed' then p_outcome is not null
        else not p_suspended and exists (
            select
            from (select o.id from kinfolk.fan_out o where o.task_id = p_task limit 1) o)
    end
$$;
