-- Commands: the names of what tasks run, with defaults. The backoff is read here when an attempt fails, `max_strikes` when a worker
-- is lost; all else is copied at the enqueue.
-- `handler`: the function or procedure (`handler_kind`) in this database that runs them, as `schema.name`, if one does; or what the
-- program `kinfolk` brings along (`handler_kind` is `built_in`): `db_function`, `email`, `sms`, `http`;
-- `before_handler` and `after_handler` are called around it; `on_success` and `on_error` are told how an attempt ended.
-- `envelope`: an answer with a boolean `success` is an envelope, see `open_envelope`.
-- `max_attempts` is null where none were declared: see `resolve_one`.
-- `label`: the path of the payload, with dots, at which the label of a task stands.
-- `grouped`: it has groups (`command_group`); where it has none, nobody looks.

create table kinfolk.command (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    queue_id integer not null references kinfolk.queue,
    priority integer not null,
    max_attempts smallint,
    backoff_base_ms bigint not null,
    backoff_cap_ms bigint not null,
    jitter_pct smallint not null,
    max_strikes smallint not null,
    timeout_us bigint,
    handler text,
    handler_kind text,
    before_handler text,
    after_handler text,
    statement_timeout_us bigint,
    grouped boolean not null default false,
    envelope boolean not null default true,
    on_success text,
    on_error text,
    label text
);
