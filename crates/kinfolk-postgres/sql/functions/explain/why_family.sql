-- Whether the limit of families keeps a task back: a new root while as many are at work as may be, or a member of a family that
-- waits to be let in again. Reads `task_at_work`.
create or replace function kinfolk.why_family(p_task kinfolk.task) returns table (detail jsonb)
language sql stable
as $$
    select jsonb_build_object('queue', q.name, 'limit', q.family_limit, 'roots', kinfolk.shown(w.ids))
    from kinfolk.task r
    join kinfolk.queue q on q.id = r.queue_id
    cross join lateral (
        select array_agg(t.id order by t.id) as ids
        from kinfolk.task t
        where t.queue_id = q.id
            and t.lane = 'root'
            and t.finished_at is null
    ) w
    where r.id = coalesce(p_task.root_id, p_task.id)
        and q.family_limit is not null
        and ((p_task.root_id is null and p_task.lane = 'top' and coalesce(cardinality(w.ids), 0) >= q.family_limit)
            or p_task.gate = 'family')
$$;
