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
    select 'a duplicate of a task that has given its key up is on the list of released keys', format('duplicate %s', d.id), d.task_id
    from kinfolk.duplicate d
    join kinfolk.task t on t.id = d.task_id
    where (t.runs > 0 or t.state <> 'pending')
        and not exists (select from kinfolk.released_key l where l.task_id = d.task_id)
    union all
    select 'a fan-out counts its children', format('%s of %s of fan-out %s', n.ended, n.total, f.id), f.task_id
    from kinfolk.fan_out f
    cross join lateral (
        select count(*) as total,
            format('%s completed, %s failed, %s cancelled, %s held', count(*) filter (where c.state = 'completed'),
                count(*) filter (where c.state = 'failed'), count(*) filter (where c.state = 'cancelled'),
                count(*) filter (where c.gate = 'after')) as ended
        from kinfolk.task c
        where c.fan_out_id = f.id
    ) n
    where n.total <> f.total
        or n.ended <> format('%s completed, %s failed, %s cancelled, %s held', f.completed, f.failed, f.cancelled, f.held)
    union all
    select 'a fan-out waits when its owner does, with its own work done', t.state::text, f.task_id
    from kinfolk.fan_out f
    left join kinfolk.task t on t.id = f.task_id
    where f.waits is distinct from (t.state = 'waiting' and t.outcome is not null)
    union all
    select 'a waiting task whose own work is over has an open child', t.outcome::text, t.id
    from kinfolk.task t
    where t.state = 'waiting'
        and t.outcome is not null
        and not exists (
            select
            from kinfolk.fan_out f
            join kinfolk.task c on c.fan_out_id = f.id
            where f.task_id = t.id
                and c.state < 'completed')
    union all
    select 'the parent of an open task waits, or was suspended and has not ended', coalesce(p.state::text, 'gone'), t.id
    from kinfolk.task t
    left join kinfolk.task p on p.id = t.parent_id
    where t.parent_id is not null
        and t.state < 'completed'
        and coalesce(p.state >= 'completed' or (p.state <> 'waiting' and not p.was_suspended), true)
    union all
    select 'a task has an outcome of its own while it waits, unless it is suspended, and when its children have failed it',
        t.state::text, t.id
    from kinfolk.task t
    where case
        when t.outcome is not null then not (t.state = 'waiting' or (t.state = 'failed' and t.failure ->> 'kind' = 'children'))
        else t.state = 'waiting' and not t.was_suspended
    end
    union all
    select 'a child stands one below its parent, in the same family', format('depth %s', t.depth), t.id
    from kinfolk.task t
    join kinfolk.task p on p.id = t.parent_id
    where t.depth <> p.depth + 1
        or t.root_id <> coalesce(p.root_id, p.id)
    union all
    select 'a task with a parent is in a fan-out and in the lane of children, and no other is', t.lane::text, t.id
    from kinfolk.task t
    where num_nonnulls(t.parent_id, t.root_id, t.fan_out_id, t.nth) not in (0, 4)
        or (t.parent_id is not null) <> (t.lane = 'child')
        or (t.parent_id is null and t.depth <> 0)
    union all
    select 'only a running child holds a child slot', t.state::text, t.id
    from kinfolk.task t
    where t.child_slot
        and (t.state <> 'running' or t.parent_id is null)
    union all
    select 'a root that has ended holds no family slot', t.state::text, t.id
    from kinfolk.task t
    where t.lane = 'root'
        and t.state >= 'completed'
    union all
    select 'a task held by a limit is of a family that its queue has not let in', coalesce(r.state::text, 'none'), t.id
    from kinfolk.task t
    left join kinfolk.task r on r.id = t.root_id
    left join kinfolk.queue q on q.id = r.queue_id
    where t.gate = 'family'
        and (coalesce(r.state not in ('pending', 'waiting'), true) or r.lane <> 'top' or q.family_limit is null)
    union all
    select f.invariant, f.detail, f.task from kinfolk.check_follow_ups() f
    union all
    select b.invariant, b.detail, b.task from kinfolk.check_durable() b
    order by 1, 3
$$;
