-- The reasons that keep a pending task back beside its keys: its time, its turn, its queue, the workers.
create or replace function kinfolk.why_pending(p_task kinfolk.task, p_now timestamptz)
returns table (nth integer, reason text, detail jsonb)
language sql stable
as $$
    select 4, 'not_due', jsonb_build_object('until', p_task.due)
    where p_task.gate = 'time'
        and p_task.due > p_now
    union all
    select 5, 'families', jsonb_build_object('roots', kinfolk.shown(r.roots))
    from (
        select array_agg(f.root_id order by f.root_id) as roots
        from kinfolk.follow_up f
        where f.task_id = p_task.id
            and f.ended is null
            and p_task.gate = 'after'
    ) r
    where r.roots is not null
    union all
    select 6, 'sibling', jsonb_build_object('task', s.id)
    from (
        select s.id
        from kinfolk.task s
        where p_task.gate = 'after'
            and s.fan_out_id = p_task.fan_out_id
            and s.nth <> p_task.nth
            and s.state::text in ('pending', 'running', 'waiting')
        -- The nearest before it; else the nearest behind it.
        order by s.nth > p_task.nth, abs(s.nth - p_task.nth)
        limit 1
    ) s
    union all
    select 7, 'paused', jsonb_build_object('queue', q.name, 'since', q.paused_at, 'by', q.paused_by)
    from kinfolk.queue q
    where q.id = p_task.queue_id
        and q.paused_at is not null
    union all
    select 8, 'family_limit', f.detail
    from kinfolk.why_family(p_task) f
    union all
    select 9, 'child_limit', jsonb_build_object('queue', q.name, 'limit', q.child_limit, 'holders', kinfolk.shown(h.ids))
    from kinfolk.queue q
    cross join lateral (
        select array_agg(t.id order by t.id) as ids
        from kinfolk.task t
        where t.queue_id = q.id
            and t.child_slot
    ) h
    where q.id = p_task.queue_id
        and p_task.parent_id is not null
        and coalesce(cardinality(h.ids), 0) >= q.child_limit
    union all
    select 13 + (not w.suspect)::integer, case when w.suspect then 'suspect' else 'no_worker' end,
        case when w.suspect then '{}' else jsonb_build_object('queue', q.name, 'command', c.name) end
    from kinfolk.queue q
    join kinfolk.command c on c.id = p_task.command_id
    cross join lateral (
        select count(*) as live, coalesce(bool_and(exists (
                select
                from kinfolk.task t
                where t.worker_id = w.id
                    and t.state = 'running'
                    and t.suspect)), false) and p_task.suspect as suspect
        from kinfolk.worker w
        where w.lease_until >= p_now
            and q.name = any (w.queues)
            and c.name = any (w.commands)
    ) w
    where q.id = p_task.queue_id
        and (w.live = 0 or w.suspect)
$$;
