-- Cancels tasks, which the caller has locked, whose payload went into another one, or that came too late for it. Duplicates that are still
-- on their way to them belong to the next task. One that waits for room no longer does, and no room is kept for it.
create or replace function kinfolk.cancel_duplicates(p_tasks bigint[], p_into bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.released_key (queue_id, task_id)
    select t.queue_id, t.id
    from kinfolk.task t
    where t.id = any (p_tasks);
    update kinfolk.task t
    set
        state = 'cancelled',
        gate = null,
        finished_at = p_now,
        failure = kinfolk.failure_duplicate(p_into),
        unique_held = false,
        blocked_group = null,
        blocked_key = null,
        failed_tries = 0
    where t.id = any (p_tasks);
    perform kinfolk.drop_reservations(p_tasks);
end
$$;
