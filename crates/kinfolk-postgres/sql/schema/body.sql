-- Payloads of more than 256 bytes, beside the task and never updated: a claim and a settle write the task's row anew,
-- and would copy them each time. A payload in the task's own row goes before one here.

create table kinfolk.body (
    task_id bigint primary key,
    payload jsonb not null
);
