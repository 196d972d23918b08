-- Locks a task while this attempt of it runs, and answers how many checkpoints it has; null when the token no longer holds.
create or replace function kinfolk.lock_attempt(p_task bigint, p_token uuid) returns integer
language plpgsql volatile
as $$
declare
    v_steps integer;
begin
    select t.steps
    into v_steps
    from kinfolk.task t
    where t.id = p_task
        and t.token = p_token
        and t.worker_id is not null
    for update;
    return v_steps;
end
$$;
