-- The invariants of parents, children and fan-outs.
create or replace function kinfolk.check_families() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
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
$$;
