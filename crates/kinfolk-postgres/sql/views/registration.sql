-- The door through which commands are registered: an insert here, which a trigger carries out (`carry_out_registration`).
-- Nothing is kept in it.
--
-- Why a view: the engine's functions run as their owner, so none of them can see who calls it. The default of a column
-- can. Nobody has the right to give `caller`, so it is the role that inserts, under `set role` too, and inside a function of
-- someone else's.
--
-- One array a property. Null leaves what is registered, of a new command the default; an empty array is null for all.
-- `spans`: base and cap of the backoff, timeout and statement_timeout of one command, as intervals; then its groups are as people write them.

create or replace view kinfolk.registration as
select
    null::text[] as names,
    null::text[] as queues,
    null::integer[] as priorities,
    null::integer[] as max_attempts,
    null::bigint[] as base_ms,
    null::bigint[] as cap_ms,
    null::integer[] as jitter_pct,
    null::bigint[] as timeouts_us,
    null::text[] as handlers,
    null::text[] as befores,
    null::text[] as afters,
    null::bigint[] as statement_timeouts_us,
    null::jsonb[] as groups,
    null::interval[] as spans,
    null::integer[] as max_strikes,
    null::boolean[] as envelopes,
    null::text[] as on_successes,
    null::text[] as on_errors,
    null::text[] as labels,
    null::name as caller
where false;

alter view kinfolk.registration alter column caller set default current_user;
