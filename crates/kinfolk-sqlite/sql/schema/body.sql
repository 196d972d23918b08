-- Payloads too large to be copied each time their task changes. Written once, read by whoever shows or runs the task.

create table large_payload (
    task_id integer primary key references task (id),
    payload text    not null
) strict;
