-- Whether anything is going on among a set of commands, as it was when it was last looked at.

create table kinfolk.status (
    name text collate "C" primary key,
    commands text[] not null,
    active boolean not null,
    changed_at timestamptz not null
);
