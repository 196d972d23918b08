-- What the provider is sent for an attempt. Locks nothing; reads by primary keys.

create function comms.get_email_payload(payload jsonb) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select coalesce((
        select jsonb_build_object('success', true, 'payload', jsonb_strip_nulls(jsonb_build_object('to', m.to_address,
            'from', m.from_address, 'subject', m.subject, 'text', m.text_body, 'html', m.html_body)))
        from comms.send_email_task t
        join comms.email_message m on m.message_id = t.message_id
        where t.send_email_task_id = (payload ->> 'send_email_task_id')::bigint
    ), jsonb_build_object('success', false, 'validation_failure_message',
        format('send_email_task %s has no email', coalesce(payload ->> 'send_email_task_id', 'null'))))
$$;
