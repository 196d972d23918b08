-- Whether anything is going on among a set of commands, as it was when it was last looked at.

create table kinfolk.status (
    name text collate "C" primary key,
    commands text[] not null,
    active boolean not null,
    changed_at timestamptz not null
);

-- Commands that a status watches and of which a claim has started tasks since the statuses were last looked at. A claim adds
-- them, without waiting for anybody; a look takes them. So a task that starts and ends between two looks is told all the same.
create table kinfolk.started (
    command_id integer not null
);
