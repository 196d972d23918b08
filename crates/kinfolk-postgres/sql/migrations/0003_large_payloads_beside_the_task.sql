-- Payloads of more than 256 bytes go beside the task; what is there already stays where it is.

create table kinfolk.body (
    task_id bigint primary key,
    payload jsonb not null
);

alter table kinfolk.task
    alter column payload drop not null,
    reset (toast_tuple_target),
    set (fillfactor = 70);
