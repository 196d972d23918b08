-- Notes a task that the caller's handler means to make, and answers the number it will have. It is made when the
-- attempt is settled as done. What can't be made is refused here, where the handler can see it.
--
-- Locks nothing: it reads the running task, its family's root and two names, and appends a row.

create or replace function kinfolk.intend(
    p_kind text, p_command text, p_payload jsonb, p_queue text, p_priority integer, p_due timestamptz, p_delay interval,
    p_unique_key text, p_unique_scope text, p_unique_window interval, p_on_duplicate text, p_max_attempts integer,
    p_timeout interval, p_trace text, p_starts_when text default null, p_slot_keys jsonb default null,
    p_inherits boolean default false
) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task kinfolk.task := kinfolk.handled();
    v_id bigint := nextval('kinfolk.task_id');
    v_is_sound boolean;
begin
    if p_due is not null and p_delay is not null then
        raise exception using errcode = 'KF001', message = 'both due and delay are given', hint = 'give one of them';
    end if;
    p_slot_keys := kinfolk.keys_given(p_slot_keys);
    -- In an expression: a query would show its lines to whoever reads the error.
    v_is_sound := kinfolk.require_given(p_payload, p_due)
        and kinfolk.require_tasks(array[v_id], array[p_command], array[p_payload], array[p_priority],
            array[kinfolk.micros(p_delay)], array[p_unique_key], array[p_unique_scope],
            array[kinfolk.micros(p_unique_window)], array[p_on_duplicate], array[p_max_attempts],
            array[kinfolk.micros(p_timeout)], array[p_trace], 1) is not null
        and kinfolk.require_keys(array[p_slot_keys]);
    perform kinfolk.require_makeable(v_task, p_kind, p_command, p_queue, p_slot_keys);

    insert into kinfolk.intent
        (task_id, token, kind, id, command, payload, queue, priority, due, delay_us, unique_key, unique_scope,
        unique_window_us, on_duplicate, max_attempts, timeout_us, trace, starts_when, slot_keys, inherits)
    values
        (v_task.id, v_task.token, p_kind, v_id, p_command, p_payload, p_queue, p_priority, p_due,
        kinfolk.micros(p_delay), p_unique_key, p_unique_scope, kinfolk.micros(p_unique_window), p_on_duplicate,
        p_max_attempts, kinfolk.micros(p_timeout), coalesce(p_trace, v_task.trace), p_starts_when,
        p_slot_keys, p_inherits);
    return v_id;
end
$$;
