-- Whether anything is going on among a set of commands, as it was when it was last looked at.

create table status (
    name       text    not null primary key,
    commands   text    not null, -- JSON array of names
    active     integer not null,
    changed_at integer not null
) strict, without rowid;

-- Commands that a status watches and of which a claim has started tasks since the statuses were last looked at. So a task
-- that starts and ends between two looks is told all the same.
create table started (
    command_id integer primary key
) strict;
