-- Ended runs. A task that was completed by its first run has none: its own row says it all. `ending`: how the attempt ended, or
-- `suspended`: the attempt goes on in the next run, when one of `awaited` (fan-outs), `until` and `signals` has come.

create table kinfolk.attempt (
    task_id bigint not null,
    run integer not null,
    attempt smallint not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    worker_id uuid not null,
    ending text not null,
    failure jsonb,
    awaited bigint[],
    until timestamptz,
    signals text[] collate "C",
    primary key (task_id, run)
);
