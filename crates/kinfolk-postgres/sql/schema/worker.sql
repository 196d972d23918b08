-- Processes that run tasks. `steady_since`: since when the lease was renewed without a gap. `minutes_recorded`:
-- the number of the last record of what it did (`record_minutes`). `version`: the program that it is a part of, in its own words.

create table kinfolk.worker (
    id uuid primary key,
    name text not null,
    queues text[] not null,
    commands text[] not null,
    started_at timestamptz not null,
    renewed_at timestamptz not null,
    lease_us bigint not null,
    lease_until timestamptz not null,
    steady_since timestamptz not null,
    minutes_recorded bigint not null default 0,
    version text not null default ''
) with (fillfactor = 50);

-- Which worker claims from which queue, and whether its last claim there left it with room to spare. Claims keep it; an
-- enqueue looks here to see whether any worker sleeps. `cursor_*`: the ready key behind which its next claim goes on,
-- where there are more than a claim reads; null: at the first one.
create table kinfolk.worker_queue (
    queue_id integer not null references kinfolk.queue on delete cascade,
    worker_id uuid not null references kinfolk.worker on delete cascade,
    idle boolean not null,
    cursor_command integer,
    cursor_group integer,
    cursor_key text collate "C",
    primary key (queue_id, worker_id)
) with (fillfactor = 50);

create index worker_queue_worker on kinfolk.worker_queue (worker_id);
