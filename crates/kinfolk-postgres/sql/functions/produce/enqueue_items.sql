-- The common part of `enqueue_many` and `try_enqueue_many`: answers one row for each task, with its outcome and number, or why
-- there is none (unknown_command, unknown_queue or unknown_group) and which is not there. The server refuses a value of a wrong
-- type in its own words.

create or replace function kinfolk.enqueue_items(p_tasks jsonb)
returns table (outcome text, id bigint, why text, name text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_is_sound boolean := kinfolk.require_items(p_tasks);
    v_tasks kinfolk.given_tasks;
begin
    if jsonb_array_length(p_tasks) > kinfolk.enqueue_batch_max() then
        raise exception using errcode = 'KF001', message = format('%s tasks in one call', jsonb_array_length(p_tasks)),
            hint = format('send at most %s at once', kinfolk.enqueue_batch_max());
    end if;
    v_tasks.ids := kinfolk.take_ids(jsonb_array_length(p_tasks));
    begin
        select array_agg(coalesce(i.command, '')), array_agg(coalesce(i.item -> 'payload', '{}')), array_agg(i.queue),
            array_agg(i.priority), array_agg(i.due), array_agg(kinfolk.micros(i.delay)), array_agg(i.unique_key),
            array_agg(i.unique_scope), array_agg(kinfolk.micros(i.unique_window)), array_agg(i.on_duplicate),
            array_agg(i.max_attempts), array_agg(kinfolk.micros(i.timeout)), array_agg(i.trace),
            case when bool_or(i.keys is not null) then array_agg(kinfolk.keys_given(i.keys)) else '{}' end,
            bool_and(kinfolk.require_given(i.item -> 'payload', i.due))
        into v_tasks.commands, v_tasks.payloads, v_tasks.queues, v_tasks.priorities, v_tasks.dues, v_tasks.delays_us, v_tasks.keys,
            v_tasks.scopes, v_tasks.windows_us, v_tasks.on_duplicates, v_tasks.max_attempts, v_tasks.timeouts_us, v_tasks.traces,
            v_tasks.slot_keys, v_is_sound
        from rows from (
            jsonb_to_recordset(p_tasks) as (command text, queue text, priority integer, due timestamptz, delay interval,
                unique_key text, unique_scope text, unique_window interval, on_duplicate text, max_attempts integer,
                timeout interval, trace text, keys jsonb),
            -- A column of a record set has nothing for the null of JSON, which is a payload.
            jsonb_array_elements(p_tasks)
        ) as i(command, queue, priority, due, delay, unique_key, unique_scope, unique_window, on_duplicate, max_attempts, timeout,
            trace, keys, item);
    exception
        when data_exception then
            raise exception using errcode = 'KF001', message = format('a task has %s', sqlerrm),
                hint = 'priority and max_attempts are whole numbers, due is a time, delay, timeout and unique_window are spans';
    end;
    return query
    select case when a.nth is null then 'created' when a.id is null then 'rejected' else a.outcome end,
        case when a.nth is null then i.id else a.id end, case when a.nth is not null and a.id is null then a.outcome end, a.name
    from unnest(v_tasks.ids) with ordinality as i(id, nth)
    left join kinfolk.enqueue_tasks(v_tasks) a on a.nth = i.nth
    where v_tasks.ids <> '{}'
    order by i.nth;
end
$$;
