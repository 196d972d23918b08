-- The types that a suspension is given, and that its steps pass on to each other. See `suspend`.

-- Checkpoints, one array a property.
create type kinfolk.checkpoints as (
    branches text[],
    names text[],
    occurrences integer[],
    kinds text[],
    digests text[],
    values jsonb[]
);

-- The fan-outs that a suspension begins, one array a property. `sizes`: how many children each has. `branches` to `digests`: under
-- which checkpoints they are known. `wakes`: how many children must have ended to resume.
create type kinfolk.begun_fan_outs as (
    sizes integer[],
    branches text[],
    names text[],
    occurrences integer[],
    digests text[],
    rules text[],
    parts integer[],
    timeouts_us bigint[],
    cancels boolean[],
    wakes integer[]
);

-- The waits of a suspended task, beside the fan-outs that the suspension begins. `fan_outs`: earlier ones that are still awaited;
-- `wakes`: how many children of each must have ended to resume. `until`: the latest moment to resume. `signals`: the names of the
-- signals to resume for.
create type kinfolk.awaits as (
    fan_outs bigint[],
    wakes integer[],
    until timestamptz,
    signals text[]
);
