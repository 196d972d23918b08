-- The work of all workers for one command on one queue in one minute, as they recorded it. Kept for a while.

create table minute (
    minute     integer not null, -- when it began
    queue_id   integer not null references queue (id),
    command_id integer not null references command (id),
    started    integer not null, -- tasks, for the first time
    waited     integer not null, -- those, since they were due
    waited_max integer not null,
    completed  integer not null, -- attempts
    failed     integer not null,
    retried    integer not null,
    cancelled  integer not null,
    suspended  integer not null, -- runs
    ran        integer not null, -- attempts that completed, failed, were retried or cancelled
    ran_max    integer not null,
    primary key (minute, queue_id, command_id)
) strict, without rowid;
