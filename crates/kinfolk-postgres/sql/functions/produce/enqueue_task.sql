-- What `enqueue` and `try_enqueue` do: the outcome and the number of a task, or why there is none (unknown_command,
-- unknown_queue or unknown_group) and which is not there. Locks nothing that exists.

create or replace function kinfolk.enqueue_task(
    p_command text, p_payload jsonb, p_queue text, p_priority integer, p_due timestamptz, p_delay interval, p_key text,
    p_scope text, p_window interval, p_on_duplicate text, p_max_attempts integer, p_timeout interval, p_trace text,
    p_slot_keys jsonb, out outcome text, out id bigint, out why text, out name text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    v_id bigint := nextval('kinfolk.task_id');
    v_is_sound boolean := kinfolk.require_given(p_payload, p_due);
    v_keys jsonb[] := case when p_slot_keys is not null then array[kinfolk.keys_given(p_slot_keys)] else '{}' end;
    v_answer record;
begin
    if p_due is not null and p_delay is not null then
        raise exception using errcode = 'KF001', message = 'both due and delay are given', hint = 'give one of them';
    elsif p_command is null then
        raise exception using errcode = 'KF001', message = 'command is null', hint = 'name a command that is registered';
    end if;
    -- From a row trigger, under a key, thousands of times in one statement: the short way.
    if p_key is not null
        and p_scope = 'pending'
        and p_on_duplicate in ('keep', 'replace', 'merge')
        and num_nonnulls(p_queue, p_priority, p_due, p_delay, p_max_attempts, p_timeout, p_trace, p_slot_keys) = 0
        and octet_length(p_key) between 1 and kinfolk.unique_key_bytes_max()
        and pg_column_size(p_payload) * 8::bigint <= kinfolk.payload_bytes_max()
    then
        v_answer := kinfolk.enqueue_short(v_id, p_command, p_payload, p_key, p_on_duplicate);
    else
        -- Asked here as well, by itself: an error in the query below would show all of it to whoever reads it.
        v_is_sound := kinfolk.require_tasks(array[v_id], array[p_command], array[p_payload], array[p_priority],
            array[kinfolk.micros(p_delay)], array[p_key], array[p_scope], array[kinfolk.micros(p_window)], array[p_on_duplicate],
            array[p_max_attempts], array[kinfolk.micros(p_timeout)], array[p_trace], 1) is not null
            and kinfolk.require_keys(v_keys);
        select r.outcome, r.id, r.name
        into v_answer
        from kinfolk.enqueue_rows(array[v_id], array[p_command], array[p_payload], array[p_queue], array[p_priority],
            array[p_due], array[kinfolk.micros(p_delay)], array[p_key], array[p_scope], array[kinfolk.micros(p_window)],
            array[p_on_duplicate], array[p_max_attempts], array[kinfolk.micros(p_timeout)], array[p_trace],
            p_slot_keys => v_keys) r;
    end if;
    if v_answer.outcome is null then
        outcome := 'created';
        id := v_id;
    elsif v_answer.id is not null then
        outcome := v_answer.outcome;
        id := v_answer.id;
    else
        why := v_answer.outcome;
        name := v_answer.name;
    end if;
end
$$;
