-- Which families spoiled a follow-up that was skipped, and how they ended. When one of them is set going again, the follow-up
-- comes back and waits for all of them.

create table skipped_follow_up (
    task_id integer not null,
    root_id integer not null,
    ended   text    not null,
    primary key (task_id, root_id)
) strict, without rowid;

create index skipped_follow_up_root_idx on skipped_follow_up (root_id);
