-- One task that a caller in SQL gives, under this number, as several are given.
create or replace function kinfolk.made_of(p_id bigint, p_task kinfolk.given_task) returns kinfolk.given_tasks
language plpgsql immutable
as $$
begin
    return row(null, array[p_id], array[p_task.command], array[p_task.payload], array[p_task.queue], array[p_task.priority],
        array[p_task.due], array[p_task.delay_us], array[p_task.unique_key], array[p_task.unique_scope],
        array[p_task.unique_window_us], array[p_task.on_duplicate], array[p_task.max_attempts], array[p_task.timeout_us],
        array[p_task.trace], null, case when p_task.keys is not null then array[p_task.keys] else '{}' end, null)::kinfolk.given_tasks;
end
$$;
