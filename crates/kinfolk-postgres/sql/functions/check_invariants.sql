-- Every invariant of the store as a query: what it answers is broken. A sound store answers nothing.

create or replace function kinfolk.check_invariants() returns table (invariant text, detail text, task bigint)
language sql stable security definer
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
    select 'a pending task has a gate, any other has none', format('%s, %s', t.state, coalesce(t.gate::text, 'none')), t.id
    from kinfolk.task t
    where (t.state = 'pending') <> (t.gate is not null)
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
    select 'a failed or cancelled task has a failure and no result', t.state::text, t.id
    from kinfolk.task t
    where t.state in ('failed', 'cancelled')
        and (t.failure is null or t.result is not null)
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
    select 'at most one started task holds a key of scope active', format('%s tasks hold %L', count(*), t.unique_key), min(t.id)
    from kinfolk.task t
    where t.unique_held
        and t.unique_scope = 'active'
        and t.runs > 0
    group by t.command_id, t.unique_key
    having count(*) > 1
    union all
    select 'a task that has started, or ended, does not hold a key of scope pending', t.state::text, t.id
    from kinfolk.task t
    where t.unique_held
        and t.unique_scope = 'pending'
        and (t.runs > 0 or t.state <> 'pending')
    union all
    select 'every task has a payload', t.state::text, t.id
    from kinfolk.task t
    where t.payload is null
        and not exists (select from kinfolk.body b where b.task_id = t.id)
    union all
    select 'every payload belongs to a task', 'body', b.task_id
    from kinfolk.body b
    where not exists (select from kinfolk.task t where t.id = b.task_id)
    union all
    select 'every attempt belongs to a task', format('run %s', a.run), a.task_id
    from kinfolk.attempt a
    where not exists (select from kinfolk.task t where t.id = a.task_id)
    union all
    select 'a task has no more ended attempts than it has runs', format('%s of %s', count(*), t.runs), t.id
    from kinfolk.task t
    join kinfolk.attempt a on a.task_id = t.id
    group by t.id
    having count(*) > t.runs or max(a.run) > t.runs
    union all
    select 'every duplicate belongs to a task', format('duplicate %s', d.id), d.task_id
    from kinfolk.duplicate d
    where not exists (select from kinfolk.task t where t.id = d.task_id)
    union all
    select 'a duplicate of a task that has given its key up is on the list of late ones', format('duplicate %s', d.id), d.task_id
    from kinfolk.duplicate d
    join kinfolk.task t on t.id = d.task_id
    where (t.runs > 0 or t.state <> 'pending')
        and not exists (select from kinfolk.late l where l.task_id = d.task_id)
    order by 1, 3
$$;
