-- What a handler made, on its way from the door through which it came to the tasks that are written.

-- The task that makes them: its number, its family's root, its depth and priority; the place in line of its family; the time.
create type kinfolk.maker as (
    task_id bigint,
    root_id bigint,
    depth integer,
    priority integer,
    place timestamptz,
    now timestamptz
);

-- The tasks that are made, one array a property: arrays are unnested side by side, which is faster than an array of rows. An array
-- that is empty says nothing of any of them. `slot_keys`: keys in the groups of their commands; `inherits`: whether they take those
-- of their maker too. `command_ids` to `timeouts`: what `resolve_made` found for each of them.
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
    command_ids integer[],
    queue_ids integer[],
    attempts integer[],
    timeouts bigint[]
);
