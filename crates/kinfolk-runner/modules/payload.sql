-- What the provider is sent for an attempt. Locks nothing; reads by primary keys.

create function "{schema}".get_{short}_payload(payload jsonb) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    -- What the provider is to be sent: here, what the process is about, as the body of a request.
    select coalesce((
        select jsonb_build_object('success', true, 'payload', jsonb_build_object('url', t.subject -> 'url', 'body', t.subject))
        from "{schema}".{root} t
        where t.{root}_id = (payload ->> '{root}_id')::bigint
    ), jsonb_build_object('success', false, 'validation_failure_message',
        format('there is no {root} %s', coalesce(payload ->> '{root}_id', 'null'))))
$$;
