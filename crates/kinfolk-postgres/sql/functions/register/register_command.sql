-- Makes a command known, or changes its defaults. A property that is left out stays as it is; a new command gets the default:
-- queue `default` (a missing queue is made), priority 0, no attempts declared, a backoff of 1 second up to 1 hour with 10
-- percent of jitter, 20 strikes, no timeout.
--
-- `handler`: the function or procedure that runs its tasks, as `schema.name`, taking the payload; '' takes it away. `before`
-- and `after` are functions called around it ('' takes one away), `statement_timeout` bounds each of its statements; '0' takes
-- a timeout away, 0 the declared attempts. `groups`: how many of its tasks may run at once, by key: a number (all of them), or
-- an object of limits by group, each a number or an object of `limit`, `rate` (`count`, `per`, `burst`), `hold` and `shared`;
-- '{}' takes them away.
-- `envelope`: whether the handler and its hooks speak `{success, error, validation_failure_message, payload}`: true unless it is said.
-- `on_success` and `on_error`: functions that are told how an attempt ended, in a transaction of their own after it, once ('' takes one away).
-- `label`: the path of the payload, with dots between its keys, at which the label of a task stands ('' takes it away).
-- `max_strikes`: how many losses of a worker while a task was its only suspect make the task poison.
--
-- `groups` may be a text, JSON or a number.
--
-- Runs as its caller, since what that role may do decides: see `kinfolk.registration`.
-- `concurrency` and `concurrency_groups` are not taken: they say what is meant.

create or replace function kinfolk.register_command(
    name text,
    queue text default null,
    priority integer default null,
    max_attempts integer default null,
    backoff_base interval default null,
    backoff_cap interval default null,
    jitter_pct integer default null,
    timeout interval default null,
    handler text default null,
    before text default null,
    after text default null,
    statement_timeout interval default null,
    groups anycompatible default null::text,
    concurrency integer default null,
    concurrency_groups jsonb default null,
    max_strikes integer default null,
    envelope boolean default null,
    on_success text default null,
    on_error text default null,
    label text default null
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_hint text;
begin
    if num_nonnulls(concurrency, concurrency_groups) > 0 then
        raise exception using errcode = 'KF001', message = 'concurrency is called groups here',
            hint = format('write groups => %L', coalesce(to_jsonb(concurrency), concurrency_groups));
    end if;
    insert into kinfolk.registration
        (names, queues, priorities, max_attempts, jitter_pct, handlers, befores, afters, groups, spans, max_strikes, envelopes,
        on_successes, on_errors, labels)
    values (array[name], array[queue], array[priority], array[register_command.max_attempts], array[register_command.jitter_pct],
        array[handler], array[before], array[after], array[register_command.groups::text::jsonb],
        array[backoff_base, backoff_cap, timeout, statement_timeout], array[register_command.max_strikes],
        array[register_command.envelope], array[register_command.on_success], array[register_command.on_error], array[register_command.label]);
exception
    when invalid_text_representation then
        raise exception using errcode = 'KF001', message = format('groups is %L, which is not JSON', left(register_command.groups::text, 60)),
            hint = 'write a number, or limits by group as in {"tenant": 20}';
    when others then
        -- As it is, without the lines of all the functions that it went through.
        get stacked diagnostics v_hint = pg_exception_hint;
        if sqlstate !~ '^KF' and sqlstate <> '42501' then
            raise;
        elsif v_hint = '' then
            raise exception using errcode = sqlstate, message = sqlerrm;
        end if;
        raise exception using errcode = sqlstate, message = sqlerrm, hint = v_hint;
end
$$;
