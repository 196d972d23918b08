-- The ended attempts of a task, oldest first.

create or replace function kinfolk.get_attempts(p_task bigint)
returns table (run integer, attempt smallint, started_at timestamptz, ended_at timestamptz, worker uuid, ending text, failure jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select a.run, a.attempt, a.started_at, a.ended_at, a.worker_id, a.ending, a.failure
    from kinfolk.attempt a
    where a.task_id = p_task
        and a.ending <> 'suspended'
    order by a.run
$$;
