-- Signals that no handler has taken yet, in the order of their arrival.

create table signal (
    arrival integer primary key,
    task_id integer not null references task (id),
    name    text    not null,
    value   text    not null
) strict;

create index signal_task_idx on signal (task_id, name);
