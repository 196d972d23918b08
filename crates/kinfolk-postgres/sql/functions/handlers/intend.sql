-- Notes a task that the caller's handler means to make, and answers the number it will have. It is made when the
-- attempt is settled as done. A task that can't be made is refused here, where the handler can see it.
--
-- Locks nothing: it reads the running task, its family's root and two names, and appends a row.

create or replace function kinfolk.intend(
    p_kind text, p_given kinfolk.given_task, p_inherits boolean, p_starts_when text default null
) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task kinfolk.task := kinfolk.handled();
    v_id bigint := nextval('kinfolk.task_id');
    v_given kinfolk.given_tasks;
    v_is_sound boolean;
begin
    if p_given.due is not null and p_given.delay_us is not null then
        raise exception using errcode = 'KF001', message = 'both due and delay are given', hint = 'give one of them';
    end if;
    p_given.keys := kinfolk.keys_given(p_given.keys);
    v_given := kinfolk.made_of(v_id, p_given);
    -- In an expression: a query would show its lines to every reader of the error.
    v_is_sound := kinfolk.require_given(p_given.payload, p_given.due)
        and kinfolk.require_tasks(v_given, v_given.ids, 1) is not null
        and kinfolk.require_keys(v_given.slot_keys);
    perform kinfolk.require_makeable(v_task, p_kind, p_given.command, p_given.queue, p_given.keys);

    insert into kinfolk.intent
        (task_id, token, kind, id, command, payload, queue, priority, due, delay_us, unique_key, unique_scope,
        unique_window_us, on_duplicate, max_attempts, timeout_us, trace, starts_when, slot_keys, inherits)
    values
        (v_task.id, v_task.token, p_kind, v_id, p_given.command, p_given.payload, p_given.queue, p_given.priority, p_given.due,
        p_given.delay_us, p_given.unique_key, p_given.unique_scope, p_given.unique_window_us, p_given.on_duplicate,
        p_given.max_attempts, p_given.timeout_us, coalesce(p_given.trace, v_task.trace), p_starts_when, p_given.keys, p_inherits);
    return v_id;
end
$$;
