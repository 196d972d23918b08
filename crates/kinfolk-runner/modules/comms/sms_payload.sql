-- What the provider is sent for an attempt. Locks nothing; reads by primary keys.

create function comms.get_sms_payload(payload jsonb) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select coalesce((
        select jsonb_build_object('success', true, 'payload', jsonb_strip_nulls(jsonb_build_object('to', m.to_number,
            'from', m.from_number, 'body', m.body)))
        from comms.send_sms_task t
        join comms.sms_message m on m.message_id = t.message_id
        where t.send_sms_task_id = (payload ->> 'send_sms_task_id')::bigint
    ), jsonb_build_object('success', false, 'validation_failure_message',
        format('send_sms_task %s has no text message', coalesce(payload ->> 'send_sms_task_id', 'null'))))
$$;
