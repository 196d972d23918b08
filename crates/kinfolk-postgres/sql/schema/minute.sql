-- The work of all workers on one command and one queue in one minute, as they recorded it (`record_minutes`): tasks started for
-- the first time, how long those had waited since they were due, how attempts ended and how long they ran, spans in microseconds.
-- Kept for a while (`minutes_kept_us`).

create table kinfolk.minute (
    minute timestamptz not null,
    queue_id integer not null,
    command_id integer not null,
    started bigint not null,
    waited_us bigint not null,
    waited_max_us bigint not null,
    completed bigint not null,
    failed bigint not null,
    retried bigint not null,
    cancelled bigint not null,
    suspended bigint not null,
    ran_us bigint not null,
    ran_max_us bigint not null,
    primary key (minute, queue_id, command_id)
) with (fillfactor = 50);
