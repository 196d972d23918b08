-- The task that each tick of this schedule enqueues.
create or replace function kinfolk.task_of(p_schedule kinfolk.schedule) returns kinfolk.given_task
language plpgsql immutable
as $$
begin
    return row(p_schedule.command, p_schedule.payload, p_schedule.queue, p_schedule.priority, p_schedule.due, p_schedule.delay_us,
        p_schedule.unique_key, p_schedule.unique_scope, p_schedule.unique_window_us, p_schedule.on_duplicate, p_schedule.max_attempts,
        p_schedule.timeout_us, p_schedule.trace, p_schedule.keys)::kinfolk.given_task;
end
$$;
