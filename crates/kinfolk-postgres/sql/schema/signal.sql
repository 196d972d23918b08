-- Signals that were sent to a task and that its handler has not taken yet, in the order of their arrival.

create table kinfolk.signal (
    task_id bigint not null,
    arrival bigint generated always as identity,
    name text collate "C" not null,
    value jsonb not null,
    primary key (task_id, arrival)
);
