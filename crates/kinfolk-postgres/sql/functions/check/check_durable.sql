-- The invariants of durable handlers.
create or replace function kinfolk.check_durable() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select 'a suspended task waits for something', 'nothing', t.id
    from kinfolk.task t
    where t.state = 'waiting'
        and t.outcome is null
        and t.gate is null
        and t.signals is null
        and not exists (select from kinfolk.fan_out f where f.task_id = t.id and f.wake_at is not null)
    union all
    select 'what a suspended task waits for is not there', format('fan-out %s', f.id), t.id
    from kinfolk.task t
    join kinfolk.fan_out f on f.task_id = t.id
    where t.state = 'waiting'
        and t.outcome is null
        and f.wake_at is not null
        and (f.verdict is not null or f.completed + f.failed + f.cancelled >= f.wake_at)
    union all
    select 'no signal is kept that a suspended task waits for', s.name, t.id
    from kinfolk.task t
    join kinfolk.signal s on s.task_id = t.id
    where s.name = any (t.signals)
    union all
    select 'only a suspended task waits for signals', t.state::text, t.id
    from kinfolk.task t
    where t.signals is not null
        and (t.state <> 'waiting' or t.outcome is not null)
    union all
    select 'a task counts its checkpoints', format('%s of %s', n.many, t.steps), t.id
    from kinfolk.task t
    cross join lateral (select count(*) as many from kinfolk.checkpoint c where c.task_id = t.id) n
    where n.many <> t.steps
    union all
    select 'checkpoints are numbered without a gap', format('up to %s', max(c.seq)), c.task_id
    from kinfolk.checkpoint c
    group by c.task_id
    having max(c.seq) <> count(*) - 1
    union all
    select 'every checkpoint belongs to a task', c.name, c.task_id
    from kinfolk.checkpoint c
    where not exists (select from kinfolk.task t where t.id = c.task_id)
    union all
    select 'every signal belongs to a task', s.name, s.task_id
    from kinfolk.signal s
    where not exists (select from kinfolk.task t where t.id = s.task_id)
    union all
    select 'a fan-out that is awaited has a rule, and a number of its own', format('fan-out %s', f.id), f.task_id
    from kinfolk.fan_out f
    where (f.rule is not null) <> (f.id <> f.task_id)
        or (f.rule = 'threshold') <> (f.parts is not null)
    union all
    select 'a fan-out is settled when its rule says so', format('fan-out %s: %s', f.id, coalesce(f.verdict, 'open')), f.task_id
    from kinfolk.fan_out f
    join kinfolk.task t on t.id = f.task_id
    -- A family that is being removed page by page has ended.
    where t.state < 'completed'
        and ((f.verdict is null) <> (f.decided_at is null)
            or (f.verdict is null) <> (f.decided_step is null)
            or f.decided_at > f.completed + f.failed + f.cancelled
            or (f.verdict is null
                and kinfolk.verdict_of(f.rule, f.parts, f.total, f.completed, f.failed, f.cancelled) is not null))
    union all
    select 'the order in which children ended is complete', format('fan-out %s', f.id), f.task_id
    from kinfolk.fan_out f
    join kinfolk.task t on t.id = f.task_id
    cross join lateral (
        select coalesce(sum(cardinality(p.nths)), 0) as many, coalesce(max(p.first + cardinality(p.nths)), 0) as last
        from kinfolk.ended_page p
        where p.fan_out_id = f.id
    ) n
    where f.rule is not null
        and t.state < 'completed'
        and (n.many <> f.completed + f.failed + f.cancelled or n.last <> n.many)
    union all
    select 'every page of ended children belongs to a fan-out', format('fan-out %s', p.fan_out_id), null
    from kinfolk.ended_page p
    where not exists (select from kinfolk.fan_out f where f.id = p.fan_out_id)
    union all
    select s.invariant, s.detail, s.task
    from kinfolk.check_slots() s
$$;
