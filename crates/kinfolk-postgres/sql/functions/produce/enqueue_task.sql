-- The common part of `enqueue` and `try_enqueue`: answers the outcome and the number of a task, or why there is none
-- (unknown_command, unknown_queue or unknown_group) and which is not there. Locks nothing that exists.

create or replace function kinfolk.enqueue_task(
    p_task kinfolk.given_task, out outcome text, out id bigint, out why text, out name text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    v_id bigint := nextval('kinfolk.task_id');
    v_is_sound boolean := kinfolk.require_given(p_task.payload, p_task.due);
    v_tasks kinfolk.given_tasks;
    v_answer record;
begin
    if p_task.due is not null and p_task.delay_us is not null then
        raise exception using errcode = 'KF001', message = 'both due and delay are given', hint = 'give one of them';
    elsif p_task.command is null then
        raise exception using errcode = 'KF001', message = 'command is null', hint = 'name a command that is registered';
    end if;
    -- From a row trigger, under a key, thousands of times in one statement: the short way.
    if p_task.unique_key is not null
        and p_task.unique_scope = 'pending'
        and p_task.on_duplicate in ('keep', 'replace', 'merge')
        and num_nonnulls(p_task.queue, p_task.priority, p_task.due, p_task.delay_us, p_task.max_attempts, p_task.timeout_us,
            p_task.trace, p_task.keys) = 0
        and octet_length(p_task.unique_key) between 1 and kinfolk.unique_key_bytes_max()
        and pg_column_size(p_task.payload) * 8::bigint <= kinfolk.payload_bytes_max()
    then
        v_answer := kinfolk.enqueue_short(v_id, p_task.command, p_task.payload, p_task.unique_key, p_task.on_duplicate);
    else
        if p_task.keys is not null then
            p_task.keys := kinfolk.keys_given(p_task.keys);
        end if;
        v_tasks := kinfolk.made_of(v_id, p_task);
        -- Asked here as well, by itself: an error in the query below would show all of it to every reader of it.
        v_is_sound := kinfolk.require_tasks(v_tasks, v_tasks.ids, 1) is not null and kinfolk.require_keys(v_tasks.slot_keys);
        select r.outcome, r.id, r.name
        into v_answer
        from kinfolk.enqueue_tasks(v_tasks) r;
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
