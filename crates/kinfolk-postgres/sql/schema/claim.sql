-- The types that the steps of a claim pass on to each other, and its answer. See `claim`.

-- The request. `low_*`: for each command in the lane `top`, then for each in the lane `child`, the position behind which to look,
-- for when dead index entries have piled up before it; empty for none.
create type kinfolk.claim_call as (
    worker_id uuid,
    token uuid,
    queue text,
    commands text[],
    most integer,
    repeated boolean,
    low_priority integer[],
    low_position timestamptz[],
    low_id bigint[]
);

-- The scope of a claim, under its locks. `commands`, `low_*`: those to go on with. `limited`: the queue has limits or a fair key,
-- and its admission lock is held. `groups`: those whose admission locks are held, null for none; `grouped`, `total`, `holds`: see
-- `lock_admission`. `wakes`: keys may have to be looked at again at some time. `left_out`: some commands were in other hands.
-- `was_taken`: a repeated call has taken tasks already, and takes no more.
create type kinfolk.claim_scope as (
    queue_id integer,
    is_open boolean,
    family_limit integer,
    child_limit integer,
    fair text,
    commands text[],
    low_priority integer[],
    low_position timestamptz[],
    low_id bigint[],
    limited boolean,
    groups integer[],
    grouped integer[],
    total integer[],
    holds boolean,
    wakes boolean,
    left_out boolean,
    was_taken boolean
);

-- The work on a queue, once due tasks are opened. `beside`: there may be open tasks in other lanes than `top`. `made`: tasks were
-- made. `for_others`: tasks were opened that other workers handle. `at`: when that was.
create type kinfolk.claim_work as (
    at timestamptz,
    next_due timestamptz,
    has_released_keys boolean,
    has_follow_ups boolean,
    has_suspects boolean,
    beside boolean,
    made boolean,
    for_others boolean,
    left_out boolean
);

-- Lines that a claim merges, one array a property: each is the open tasks of one command in one lane. `priorities` to `ids`: the
-- position behind which to look. `quotas`: how many to take of each, once that is known.
create type kinfolk.merged_lines as (
    commands integer[],
    lanes kinfolk.lane[],
    quotas integer[],
    priorities integer[],
    positions timestamptz[],
    ids bigint[]
);

-- The tasks to start, locked. `tops`: those that bring a family to work on a queue that limits those. `starts_unique`: one of them
-- starts under a unique key. `short`, `more`: there may be others, before the cursors of the caller or behind those that are held up
-- by their keys. `at`: when they start. `again`: those of `tops` that have run before.
create type kinfolk.claim_picked as (
    ids bigint[],
    tops bigint[],
    starts_unique boolean,
    short boolean,
    more boolean,
    left_out boolean,
    at timestamptz,
    again bigint[]
);

-- The answer of a claim: a row for each task that was taken, and a last row, without `id`, about the whole call.
create type kinfolk.claimed as (
    id bigint,
    command text,
    payload jsonb,
    attempt integer,
    max_attempts integer,
    timeout_us bigint,
    trace text,
    priority integer,
    position timestamptz,
    next_due timestamptz,
    again boolean,
    parent bigint,
    root bigint,
    depth integer,
    lane text,
    steps bigint,
    recorded integer,
    was_suspended boolean,
    holds_slots boolean,
    more boolean,
    unflushed boolean,
    turns bigint[],
    keys jsonb,
    waited interval
);

-- The stand of a task, behind which a claim goes on.
create type kinfolk.stand as (
    priority integer,
    position timestamptz,
    id bigint
);

-- Ready keys that a claim looks at, one array a property. `is_full`: there may be more behind them. `is_later`: the worker's last claim
-- ended at a ready key. `has_reserved`: a group of the claim has a reservation.
create type kinfolk.claim_ready as (
    commands integer[],
    groups integer[],
    keys text[],
    is_full boolean,
    is_later boolean,
    has_reserved boolean
);

-- A line from which a claim takes candidates: the open tasks or the suspects of a command in a lane, or, with a group, the tasks behind
-- a key. `most`: how many to read of it. `priority` to `id`: the stand behind which to read.
create type kinfolk.claim_line as (
    command_id integer,
    lane kinfolk.lane,
    suspect boolean,
    group_id integer,
    key text,
    most integer,
    priority integer,
    position timestamptz,
    id bigint
);

-- A page of candidates, locked, in the order of the claim, one array a property. `ranks`, `edges`: see `line_up`; null where candidates
-- come from one line. `turns`: the values of the fair key. `starts_unique`, `suspects`: one of them starts under a unique key, is a
-- suspect. `skipped`: tasks that other calls have locked; `left_out`: there are some. `is_last`: there are no candidates behind these.
-- `last`: the task behind which to go on, if other calls have locked all of them.
create type kinfolk.claim_page as (
    ids bigint[],
    commands integer[],
    keys jsonb[],
    ranks integer[],
    edges integer[],
    turns text[],
    starts_unique boolean,
    suspects boolean,
    skipped bigint[],
    left_out boolean,
    is_last boolean,
    last bigint
);

-- The keys that the candidates of a page need, one array a property. `candidates`: which of the page. `takes`: no ancestor holds the
-- slot. `all_plain`: no key has more to it than slots.
create type kinfolk.claim_needs as (
    candidates integer[],
    tasks bigint[],
    groups integer[],
    keys text[],
    takes boolean[],
    all_plain boolean
);

-- The rooms of keys, one array a property: slots and starts, and the task for which one is kept (0: none). `is_rated`: a key has a rate.
create type kinfolk.claim_rooms as (
    groups integer[],
    keys text[],
    free bigint[],
    starts bigint[],
    kept bigint[],
    is_rated boolean
);

-- The decisions of a claim with keys so far. `ids` to `more`: see `claim_picked`. `most`, `top_room`, `child_room`, `may_suspect`: how
-- many it may still start, in all and by lane, and whether one may be a suspect. `behind_*`: the keys behind which it has blocked
-- candidates. `starved`: candidates with too many failed tries. `last`: the candidate that was decided last; `is_whole`: it was the
-- last of its page.
create type kinfolk.claim_admission as (
    ids bigint[],
    tops bigint[],
    starts_unique boolean,
    left_out boolean,
    more boolean,
    most integer,
    top_room integer,
    child_room integer,
    may_suspect boolean,
    behind_groups integer[],
    behind_keys text[],
    starved bigint[],
    last bigint,
    is_whole boolean
);
