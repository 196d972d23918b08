-- Which families a follow-up (`task_id`, on `queue_id`) waits for. `ended`: the state its root went to, once it is terminal.
-- Rows go when a claim opens the follow-up, or when it is cancelled.

create table kinfolk.follow_up (
    task_id bigint not null,
    root_id bigint not null,
    needs_completed boolean not null,
    queue_id integer not null,
    ended kinfolk.state,
    primary key (root_id, task_id)
);

create index follow_up_task on kinfolk.follow_up (task_id, ended);

create index follow_up_ended on kinfolk.follow_up (queue_id, task_id) where ended is not null;
