-- Where tasks wait. `keep_*_us`: how long finished tasks are kept, in microseconds; null keeps them for good.
-- `*_limit`: families at work and children running at once, and generations below a root; null is no limit.
-- `paused_by`: who paused it, if they said so. `fair`: the group by whose keys its tasks take turns; `turn`: whose turn
-- it was last.

create table kinfolk.queue (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    paused_at timestamptz,
    keep_completed_us bigint default 604800000000,
    keep_failed_us bigint default 2592000000000,
    keep_cancelled_us bigint default 604800000000,
    family_limit integer,
    child_limit integer,
    depth_limit smallint not null default 32,
    paused_by text,
    fair text collate "C",
    turn text collate "C"
);
