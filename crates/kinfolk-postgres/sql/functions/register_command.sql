-- Makes a command known, or changes its defaults. A missing queue is made.
--
-- `handler`: the function or procedure that runs its tasks, as `schema.name`, taking the payload; null leaves what is
-- registered, '' takes it away. `before` and `after` are functions called around it, `statement_timeout` bounds each of
-- its statements: they belong to the handler, and are set with it. `groups`: how many of its tasks may run at once, by key: a number
-- (all of them), or an object of limits by group, each a number or an object of `limit`, `rate` (`count`, `per`, `burst`), `hold` and
-- `shared`; null leaves what is registered, '{}' takes them away.

create or replace function kinfolk.register_command(
    name text,
    queue text default 'default',
    priority integer default 0,
    max_attempts integer default 10,
    backoff_base interval default '1 second',
    backoff_cap interval default '1 hour',
    jitter_pct integer default 10,
    timeout interval default null,
    handler text default null,
    before text default null,
    after text default null,
    statement_timeout interval default null,
    groups jsonb default null
) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select kinfolk.register_commands(array[name], array[queue], array[priority], array[max_attempts],
        array[kinfolk.micros(backoff_base) / 1000], array[kinfolk.micros(backoff_cap) / 1000], array[jitter_pct],
        array[kinfolk.micros(timeout)], array[handler], array[before], array[after],
        array[kinfolk.micros(statement_timeout)], array[kinfolk.groups_given(groups)])
$$;
