-- Payloads too large to be copied each time their task changes. Written once; every call that shows or runs the task reads them.

create table large_payload (
    task_id integer primary key references task (id),
    payload text    not null
) strict;
