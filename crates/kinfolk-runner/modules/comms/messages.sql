-- What is sent.

create table comms.message (
    message_id bigint generated always as identity primary key,
    channel text not null check (channel in ('email', 'sms')),
    created_at timestamptz not null default now()
);
create table comms.email_message (
    message_id bigint primary key references comms.message,
    to_address text not null,
    from_address text,
    subject text not null,
    text_body text,
    html_body text,
    check (num_nonnulls(text_body, html_body) > 0)
);
create table comms.sms_message (
    message_id bigint primary key references comms.message,
    to_number text not null,
    from_number text,
    body text not null
);

create function comms.create_email_message(
    to_address text, subject text, text_body text, html_body text default null, from_address text default null
) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with made as (insert into comms.message (channel) values ('email') returning message_id)
    insert into comms.email_message (message_id, to_address, from_address, subject, text_body, html_body)
    select m.message_id, to_address, from_address, subject, text_body, html_body
    from made m
    returning message_id
$$;

create function comms.create_sms_message(to_number text, body text, from_number text default null) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with made as (insert into comms.message (channel) values ('sms') returning message_id)
    insert into comms.sms_message (message_id, to_number, from_number, body)
    select m.message_id, to_number, from_number, body
    from made m
    returning message_id
$$;
grant execute on function comms.create_email_message(text, text, text, text, text), comms.create_sms_message(text, text, text)
to kinfolk_producer;
