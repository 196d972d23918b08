-- The sub-tasks of a fan-out, given as an array of objects, as one array a property. A sub-task without a trace gets `p_trace`. The
-- server refuses a value of a wrong type in its own words.

create or replace function kinfolk.sub_tasks(p_subs jsonb, p_trace text) returns kinfolk.given_tasks
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_subs kinfolk.given_tasks := row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{}', '{}');
    v_is_sound boolean;
begin
    select coalesce(array_agg(i.command), '{}'), coalesce(array_agg(coalesce(i.item -> 'payload', '{}')), '{}'),
        coalesce(array_agg(i.queue), '{}'), coalesce(array_agg(i.priority), '{}'), coalesce(array_agg(i.due), '{}'),
        coalesce(array_agg(kinfolk.micros(i.delay)), '{}'), coalesce(array_agg(i.max_attempts), '{}'),
        coalesce(array_agg(kinfolk.micros(i.timeout)), '{}'), coalesce(array_agg(coalesce(i.trace, p_trace)), '{}'),
        case when bool_or(i.keys is not null) then array_agg(kinfolk.keys_given(i.keys)) else '{}' end,
        case when bool_or(i.inherit_keys) then array_agg(coalesce(i.inherit_keys, false)) else '{}' end,
        bool_and(kinfolk.require_given(i.item -> 'payload', i.due) and num_nonnulls(i.due, i.delay) < 2)
    into v_subs.commands, v_subs.payloads, v_subs.queues, v_subs.priorities, v_subs.dues, v_subs.delays_us, v_subs.max_attempts,
        v_subs.timeouts_us, v_subs.traces, v_subs.slot_keys, v_subs.inherits, v_is_sound
    from rows from (
        jsonb_to_recordset(p_subs) as (command text, queue text, priority integer, due timestamptz, delay interval,
            max_attempts integer, timeout interval, trace text, keys jsonb, inherit_keys boolean),
        -- A column of a record set has nothing for the null of JSON, which is a payload.
        jsonb_array_elements(p_subs)
    ) as i(command, queue, priority, due, delay, max_attempts, timeout, trace, keys, inherit_keys, item);
    if not v_is_sound then
        raise exception using errcode = 'KF001', message = 'both due and delay are given', hint = 'give one of them';
    end if;
    return v_subs;
exception
    when data_exception then
        raise exception using errcode = 'KF001', message = format('a sub-task has %s', sqlerrm),
            hint = 'priority and max_attempts are whole numbers, due is a time, delay and timeout are spans';
end
$$;
