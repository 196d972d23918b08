-- The invariants of fan-outs that a durable handler awaits.
create or replace function kinfolk.check_awaited() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
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
$$;
