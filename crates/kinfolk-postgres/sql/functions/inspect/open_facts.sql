-- How many open tasks there are of each command on each queue, those that have become due among them, each counted so far.
-- Reads `task_ready`, `task_suspect` and `task_due`.

create or replace function kinfolk.open_facts(p_now timestamptz, p_page integer)
returns table (queue_id integer, fact text, command_id integer, group_id integer, key text, tasks bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return query
    select q.id, 'open', c.id, null::integer, null, sum(n.tasks)::bigint
    from kinfolk.queue q
    cross join kinfolk.command c
    cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
    cross join lateral (
        select count(*) as tasks
        from (
            select
            from kinfolk.any_open t
            where t.queue_id = q.id and t.lane = l.lane and t.command_id = c.id
            limit p_page
        ) o
    ) n
    where n.tasks > 0
    group by q.id, c.id
    union all
    select d.queue_id, 'open', d.command_id, null, null, count(*)
    from kinfolk.queue q
    cross join lateral (
        select t.queue_id, t.command_id
        from kinfolk.task t
        where t.queue_id = q.id and t.gate = 'time' and t.due <= p_now and t.state = 'pending'
        limit p_page
    ) d
    group by d.queue_id, d.command_id;
end
$$;
