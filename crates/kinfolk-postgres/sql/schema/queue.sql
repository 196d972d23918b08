-- Where tasks wait. `keep_*_us`: how long finished tasks are kept, in microseconds; null keeps them for good.

create table kinfolk.queue (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    paused_at timestamptz,
    keep_completed_us bigint default 604800000000,
    keep_failed_us bigint default 2592000000000,
    keep_cancelled_us bigint default 604800000000
);
