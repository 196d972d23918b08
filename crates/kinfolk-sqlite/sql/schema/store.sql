-- One row about the file itself, written once per commit that changes anything.
-- In all tables times and spans are whole microseconds, and ids of workers and tokens are 16 bytes.

create table store (
    id        integer primary key,
    clock     integer not null, -- the highest time ever stored; the clock never goes below it
    last_task integer not null, -- the highest task number ever given out; numbers are never reused
    catalogue integer not null, -- grows when a command or a queue changes
    cancels   integer not null, -- grows when the end of a running task is asked for
    constraint only_one_row check (id = 1)
) strict;

insert into store (id, clock, last_task, catalogue, cancels)
values (1, 0, 0, 1, 0);
