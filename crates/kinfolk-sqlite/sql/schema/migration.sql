-- The migrations of this file, and their times. The version itself is the file's `user_version`.

create table migration (
    version     integer primary key,
    name        text    not null,
    migrated_at integer not null default (cast(unixepoch('subsec') * 1000000 as integer))
) strict;
