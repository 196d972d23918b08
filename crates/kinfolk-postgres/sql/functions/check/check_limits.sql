-- The invariants of tasks on queues with limits.
create or replace function kinfolk.check_limits() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
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
    where t.gate = 'limit'
        and t.blocked_group is null
        and (coalesce(r.state not in ('pending', 'waiting'), true) or r.lane <> 'top' or q.family_limit is null)
$$;
