-- All workers, as they are shown.

create or replace function kinfolk.workers()
returns table (
    id uuid, name text, queues text[], commands text[], started_at timestamptz, lease_until timestamptz, running bigint,
    version text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select w.id, w.name, w.queues, w.commands, w.started_at, w.lease_until,
        (select count(*) from kinfolk.task t where t.worker_id = w.id and t.state = 'running'), w.version
    from kinfolk.worker w
    order by w.started_at, w.id
$$;
