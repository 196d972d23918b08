-- The types that the steps of an end in a family pass on to each other. See `ended`, `cancel_members` and
-- `open_follow_ups`.

-- New ends by fan-out, one array a property. `depths`: the depth of each fan-out. `held`: how many of its ends had the gate
-- `after` until now.
create type kinfolk.new_ends as (
    ids bigint[],
    depths smallint[],
    completed integer[],
    failed integer[],
    cancelled integer[],
    held integer[]
);

-- Fan-outs after their new ends were counted. `over`: a failure ends them, and the held children are to be cancelled. `idle`: the
-- next held child is to be opened. `decided`, `verdicts`: the verdict is new. `owners`: tasks that may end or resume.
create type kinfolk.counted_fan_outs as (
    over bigint[],
    idle bigint[],
    is_awaited boolean,
    decided bigint[],
    verdicts text[],
    owners bigint[]
);

-- Waiting tasks that have ended or are resumed. `roots` to `root_queues`: those without a parent. `fan_outs` to `states`: those with
-- a parent, each with its fan-out, its `nth`, the fan-out's depth and its new state. `resumed`: the queues of resumed tasks.
-- `holders`: those that hold slots.
create type kinfolk.ended_owners as (
    roots bigint[],
    root_states kinfolk.state[],
    root_queues integer[],
    fan_outs bigint[],
    nths integer[],
    depths smallint[],
    states kinfolk.state[],
    resumed integer[],
    holders bigint[]
);

-- Locked members of a family whose end is asked for. `many`: how many have not ended. `over`: those that end at once. `fan_outs` to
-- `was_after`: as `cancel_members` returns them. `asked`: those that end later. `waiting`: those of them that neither run nor have
-- an outcome. `workers`: those that run one.
create type kinfolk.locked_members as (
    many integer,
    over bigint[],
    fan_outs bigint[],
    children integer[],
    was_after boolean[],
    asked bigint[],
    waiting bigint[],
    workers uuid[]
);

-- Follow-ups that no family keeps waiting. `opened`: those that may start. `skipped`: those that a family spoiled, each with that
-- family in `spoilers`.
create type kinfolk.judged_follow_ups as (
    opened bigint[],
    skipped bigint[],
    spoilers bigint[]
);
