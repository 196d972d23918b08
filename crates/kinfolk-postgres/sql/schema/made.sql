-- Tasks on their way from the door through which they came to the rows that are written.

-- A task whose handler made others. `token` to `is_running`: what a call shows of it, where its family stands, and whether it still
-- runs under that token; the rest is what it was when it was locked. `depth_limit`: how deep its family may grow. `was_suspended`: it was
-- suspended before, and the caller has its family whole. `now`: when it was locked.
create type kinfolk.maker as (
    task_id bigint,
    token uuid,
    root_id bigint,
    position timestamptz,
    depth_limit integer,
    was_suspended boolean,
    is_running boolean,
    is_cancelled boolean,
    queue_id integer,
    parent_id bigint,
    fan_out_id bigint,
    depth integer,
    priority integer,
    max_attempts integer,
    keys jsonb,
    child_slot boolean,
    holds_slots boolean,
    now timestamptz
);

-- Tasks as a call gives them, one array a property: arrays are unnested side by side, which is faster than an array of rows. An
-- array that is empty says nothing of any of them. `kinds`, `whens`: of what a handler made; a child that it awaits has no kind.
-- `ids`: numbers taken before. `keys` to `on_duplicates` are of unique keys. `slot_keys`: keys in the groups of their commands;
-- `inherits`: whether they take those of their maker too.
create type kinfolk.given_tasks as (
    kinds text[],
    ids bigint[],
    commands text[],
    payloads jsonb[],
    queues text[],
    priorities integer[],
    dues timestamptz[],
    delays_us bigint[],
    keys text[],
    scopes text[],
    windows_us bigint[],
    on_duplicates text[],
    max_attempts integer[],
    timeouts_us bigint[],
    traces text[],
    whens text[],
    slot_keys jsonb[],
    inherits boolean[]
);

-- Tasks that a handler made: as they were given, and behind that what `resolve_made` found of them. `largest`: how large the
-- largest payload is in memory. `all_keys`: their keys with what they take of their maker's, null if none has any; `notify`: the
-- queues they go to; `refused`: the first that can't be made. The columns of `given_tasks` stand here again: SQL has no type that
-- extends another one.
create type kinfolk.made as (
    kinds text[],
    ids bigint[],
    commands text[],
    payloads jsonb[],
    queues text[],
    priorities integer[],
    dues timestamptz[],
    delays_us bigint[],
    keys text[],
    scopes text[],
    windows_us bigint[],
    on_duplicates text[],
    max_attempts integer[],
    timeouts_us bigint[],
    traces text[],
    whens text[],
    slot_keys jsonb[],
    inherits boolean[],
    largest integer,
    command_ids integer[],
    queue_ids integer[],
    attempts integer[],
    timeouts bigint[],
    all_keys jsonb[],
    notify integer[],
    refused integer
);

-- One task, ready to be written: what it was not given comes from its command. `unique_key`: null for none.
create type kinfolk.new_task as (
    id bigint,
    queue_id integer,
    command_id integer,
    priority integer,
    max_attempts integer,
    due timestamptz,
    timeout_us bigint,
    trace text,
    payload jsonb,
    unique_key text,
    unique_scope kinfolk.unique_scope,
    unique_window_us bigint,
    on_duplicate kinfolk.on_duplicate,
    keys jsonb
);

-- Properties of a task that a call brings, and that have bounds.
create type kinfolk.task_properties as (
    priority integer,
    delay_us bigint,
    unique_key text,
    unique_scope text,
    unique_window_us bigint,
    on_duplicate text,
    max_attempts integer,
    timeout_us bigint,
    trace text
);

-- One task as a caller in SQL gives it: null means that nothing was said. `keys`: its keys in the groups of its command. The tables
-- `schedule` and `intent` have these columns one by one: rows of the first are shown as they are, and not all of the second are tasks.
create type kinfolk.given_task as (
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
    keys jsonb
);
