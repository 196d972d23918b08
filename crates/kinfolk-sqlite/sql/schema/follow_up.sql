-- The families that a follow-up waits for, and the ends of the ended ones.

create table follow_up (
    task_id         integer not null,
    root_id         integer not null,
    needs_completed integer not null,
    queue_id        integer not null, -- the follow-up's
    ended           text,
    primary key (task_id, root_id)
) strict, without rowid;

create index follow_up_root_idx on follow_up (root_id);

create index follow_up_ended_idx on follow_up (queue_id, task_id)
where ended is not null;
