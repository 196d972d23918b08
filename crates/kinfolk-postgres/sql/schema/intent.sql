-- The tasks that an SQL handler means to make: children, siblings, follow-ups. They are kept apart until its attempt is settled as done,
-- and are made then, in that transaction; the rows of an attempt that ends otherwise are dropped. A function's rows are never seen by
-- anyone else, since they live and go in its transaction; a procedure may commit in between. `id`: the number the task will have.
-- `child_order`: of a row of kind `order`. `slot_keys`, `inherits`: its keys in groups, and whether it takes those of its maker too. Of a
-- row of kind `slow_down`: the key, and `due` until when. Of one of kind `fan_out`: its terms and its sub-tasks in `payload`.

create table kinfolk.intent (
    task_id bigint not null,
    token uuid not null,
    arrival bigint generated always as identity,
    kind text not null,
    id bigint,
    command text,
    payload jsonb,
    queue text,
    priority integer,
    due timestamptz,
    delay_us bigint,
    unique_key text,
    unique_scope text,
    unique_window_us bigint,
    on_duplicate text,
    max_attempts integer,
    timeout_us bigint,
    trace text,
    starts_when text,
    child_order text,
    slot_keys jsonb,
    inherits boolean,
    primary key (task_id, token, arrival)
);
