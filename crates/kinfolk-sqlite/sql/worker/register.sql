-- register: a new worker, or the same one once more; one that let its lease run out is steady only from now on.
-- params: 1 worker, 2 name, 3 queues, 4 commands, 5 lease, 6 now, 7 lease_until, 8 version
-- index:  by id
insert into worker (id, name, queues, commands, lease, started_at, lease_until, steady_since, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?8)
on conflict (id) do update
set name         = excluded.name,
    version      = excluded.version,
    queues       = excluded.queues,
    commands     = excluded.commands,
    lease        = excluded.lease,
    steady_since = iif(?6 > worker.lease_until, ?6, worker.steady_since),
    lease_until  = excluded.lease_until
