-- What `enqueue_many` and `try_enqueue_many` do: one row for each task, with its outcome and number, or why there is none
-- (unknown_command, unknown_queue or unknown_group) and which is not there. What is not of its type is refused in the words of the
-- server.

create or replace function kinfolk.enqueue_items(p_tasks jsonb)
returns table (outcome text, id bigint, why text, name text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_is_sound boolean := kinfolk.require_items(p_tasks);
    v_ids bigint[] := kinfolk.take_ids(jsonb_array_length(p_tasks));
    g record;
begin
    if jsonb_array_length(p_tasks) > kinfolk.enqueue_batch_max() then
        raise exception using errcode = 'KF001', message = format('%s tasks in one call', jsonb_array_length(p_tasks)),
            hint = format('send at most %s at once', kinfolk.enqueue_batch_max());
    end if;
    begin
        select array_agg(coalesce(i.command, '')) as commands, array_agg(coalesce(i.item -> 'payload', '{}')) as payloads,
            array_agg(i.queue) as queues, array_agg(i.priority) as priorities, array_agg(i.due) as dues,
            array_agg(kinfolk.micros(i.delay)) as delays, array_agg(i.unique_key) as keys,
            array_agg(i.unique_scope) as scopes, array_agg(kinfolk.micros(i.unique_window)) as windows,
            array_agg(i.on_duplicate) as on_duplicates, array_agg(i.max_attempts) as attempts,
            array_agg(kinfolk.micros(i.timeout)) as timeouts, array_agg(i.trace) as traces,
            case when bool_or(i.keys is not null) then array_agg(kinfolk.keys_given(i.keys)) else '{}' end as slot_keys,
            bool_and(kinfolk.require_given(i.item -> 'payload', i.due)) as is_sound
        into g
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
    from unnest(v_ids) with ordinality as i(id, nth)
    left join kinfolk.enqueue_rows(v_ids, g.commands, g.payloads, g.queues, g.priorities, g.dues, g.delays, g.keys, g.scopes,
        g.windows, g.on_duplicates, g.attempts, g.timeouts, g.traces, p_slot_keys => g.slot_keys) a on a.nth = i.nth
    where v_ids <> '{}'
    order by i.nth;
end
$$;
