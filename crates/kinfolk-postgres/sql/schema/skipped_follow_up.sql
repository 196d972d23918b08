-- Which families spoiled a follow-up (`task_id`) that was skipped, and how they `ended`. When one of them is set going again, the
-- follow-up comes back and waits for all of them. Rows go with that, when the follow-up is retried by itself, and when it is removed.

create table kinfolk.skipped_follow_up (
    task_id bigint not null,
    root_id bigint not null,
    ended kinfolk.state not null,
    primary key (root_id, task_id)
);

create index skipped_follow_up_task on kinfolk.skipped_follow_up (task_id);
