-- The invariants of a task by itself: its state, its worker, its gate, its attempts.
create or replace function kinfolk.check_tasks() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select 'a running task has a worker, a token and a start; any other has no worker', t.state::text, t.id
    from kinfolk.task t
    where (t.state = 'running') is distinct from (t.worker_id is not null)
        or (t.state = 'running' and (t.token is null or t.started_at is null))
    union all
    select 'the worker of a running task is registered', format('worker %s', t.worker_id), t.id
    from kinfolk.task t
    where t.state = 'running'
        and not exists (select from kinfolk.worker w where w.id = t.worker_id)
    union all
    select 'a pending task has a gate, a suspended one only that of its timer, any other none',
        format('%s, %s', t.state, coalesce(t.gate::text, 'none')), t.id
    from kinfolk.task t
    where (t.state = 'pending') <> (t.gate is not null)
        and not (t.state = 'waiting' and t.outcome is null and t.gate = 'time')
    union all
    select 'an open gate means that the task is due', format('due %s', t.due), t.id
    from kinfolk.task t
    where t.gate = 'open'
        and t.due > kinfolk.clock()
    union all
    select 'a task has a finishing time when it is terminal, and only then', t.state::text, t.id
    from kinfolk.task t
    where (t.state >= 'completed') <> (t.finished_at is not null)
    union all
    select 'a completed task has no failure', t.failure ->> 'message', t.id
    from kinfolk.task t
    where t.state = 'completed'
        and t.failure is not null
    union all
    select 'a failed or cancelled task has a failure, and no result unless its children failed it', t.state::text, t.id
    from kinfolk.task t
    where t.state in ('failed', 'cancelled')
        and (t.failure is null or (t.result is not null and t.outcome is null))
    union all
    select 'no attempt goes beyond max_attempts', format('%s of %s', t.attempt, t.max_attempts), t.id
    from kinfolk.task t
    where t.attempt not between 0 and t.max_attempts
    union all
    select 'a worker runs at most one suspect', format('worker %s runs %s', t.worker_id, count(*)), min(t.id)
    from kinfolk.task t
    where t.state = 'running'
        and t.suspect
    group by t.worker_id
    having count(*) > 1
    union all
    select 'a task has an outcome of its own while it waits, unless it is suspended, and when its children have failed it',
        t.state::text, t.id
    from kinfolk.task t
    where case
        when t.outcome is not null then not (t.state = 'waiting' or (t.state = 'failed' and t.failure ->> 'kind' = 'children'))
        else t.state = 'waiting' and not t.was_suspended
    end
$$;
