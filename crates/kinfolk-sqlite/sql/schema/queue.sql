-- Where tasks wait.

create table queue (
    id             integer primary key,
    name           text    not null unique,
    paused_at      integer,
    keep_completed integer, -- retention; null keeps for good
    keep_failed    integer,
    keep_cancelled integer,
    wakes          integer not null default 0, -- grows when there may be something to claim
    waker          integer not null default 0, -- which open store made it grow last
    family_limit   integer, -- families at work at once; null is no limit
    child_limit    integer, -- children running at once; null is no limit
    depth_limit    integer not null default 32, -- generations below a root
    paused_by      text, -- who paused it, if they said so
    fair           text, -- the name of the key whose values take turns; null: first come, first served
    fair_cursor    text  -- the value whose turn was last
) strict;
