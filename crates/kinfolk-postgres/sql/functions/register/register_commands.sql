-- Makes commands known, or changes their defaults: the door, which runs as its caller. See `keep_commands`.

create or replace function kinfolk.register_commands(
    p_names text[], p_queues text[] default '{}', p_priorities integer[] default '{}', p_max_attempts integer[] default '{}',
    p_base_ms bigint[] default '{}', p_cap_ms bigint[] default '{}', p_jitter_pct integer[] default '{}',
    p_timeouts_us bigint[] default '{}', p_handlers text[] default '{}', p_befores text[] default '{}',
    p_afters text[] default '{}', p_statement_timeouts_us bigint[] default '{}', p_groups jsonb[] default '{}',
    p_max_strikes integer[] default '{}', p_envelopes boolean[] default '{}',
    p_on_successes text[] default '{}', p_on_errors text[] default '{}', p_labels text[] default '{}'
) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    insert into kinfolk.registration (names, queues, priorities, max_attempts, base_ms, cap_ms, jitter_pct, timeouts_us,
        handlers, befores, afters, statement_timeouts_us, groups, max_strikes, envelopes,
        on_successes, on_errors, labels)
    values (p_names, p_queues, p_priorities, p_max_attempts, p_base_ms, p_cap_ms, p_jitter_pct, p_timeouts_us, p_handlers,
        p_befores, p_afters, p_statement_timeouts_us, p_groups, p_max_strikes, p_envelopes,
        p_on_successes, p_on_errors, p_labels)
$$;
