-- The types that the steps of a settle pass on to each other. `recover` has the same steps. See `settle_rest`.

-- How attempts ended, one array a property. An array that is empty says nothing of any of them.
create type kinfolk.settles as (
    ids bigint[],
    tokens uuid[],
    outcomes text[],
    results jsonb[],
    failures jsonb[],
    delays_us bigint[]
);

-- One attempt that ends, and its task from then on. `item`: which of the settles it is; null where a worker was lost.
-- `task_id` to `holds_slots`: the task as it was while it ran; `child` is its number in its fan-out.
-- `run` to `failure`: the attempt, as it is written down.
-- `own_state`: where the task's own work has brought it; `state`: where it goes, since it may have open children. `due`: null
-- leaves it as it was. `next_*`, `suspect`, `strikes`, `result`: what the task has from now on.
create type kinfolk.attempt_end as (
    item integer,
    task_id bigint,
    command_id integer,
    queue_id integer,
    root_id bigint,
    fan_out_id bigint,
    child integer,
    lane kinfolk.lane,
    child_slot boolean,
    was_suspended boolean,
    holds_slots boolean,
    run integer,
    attempt smallint,
    started_at timestamptz,
    worker_id uuid,
    ending text,
    failure jsonb,
    own_state kinfolk.state,
    state kinfolk.state,
    due timestamptz,
    next_attempt smallint,
    suspect boolean,
    strikes smallint,
    result jsonb,
    next_failure jsonb,
    next_lane kinfolk.lane
);
