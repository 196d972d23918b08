-- What the steps of a suspension pass on to each other. See `suspend`.

-- Checkpoints, one array a property.
create type kinfolk.checkpoints as (
    branches text[],
    names text[],
    occurrences integer[],
    kinds text[],
    digests text[],
    values jsonb[]
);

-- The fan-outs that a suspension begins, one array a property. `ids`: their numbers, once they have some. `sizes`: how many
-- children each has. `branches` to `digests`: under which checkpoints they are known. `wakes`: how many children must have ended
-- to resume.
create type kinfolk.begun_fan_outs as (
    ids bigint[],
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
