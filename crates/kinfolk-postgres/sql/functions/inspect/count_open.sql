-- How many tasks of each command on each queue are pending or waiting, each sort of them counted up to `p_page`, and how many run,
-- of so many in all. Locks nothing. Reads `task_ready`, `task_suspect`, `task_later`, `task_held`, `task_waiting` and
-- `task_running`.

create or replace function kinfolk.count_open(p_page integer)
returns table (queue_id integer, command_id integer, state text, tasks bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    return query
    select q.id, c.id, n.state, n.tasks
    from kinfolk.queue q
    cross join kinfolk.command c
    cross join lateral (
        select 'pending' as state, count(*) as tasks
        from (
            select
            from unnest(enum_range(null::kinfolk.lane)) as l(lane)
            cross join lateral (
                (select from kinfolk.open_task t
                where t.queue_id = q.id and t.lane = l.lane and t.command_id = c.id limit p_page)
                union all
                (select from kinfolk.open_suspect t
                where t.queue_id = q.id and t.lane = l.lane and t.command_id = c.id limit p_page)
            ) o
            union all
            (select from kinfolk.task t
            where t.queue_id = q.id and t.command_id = c.id and t.gate = 'time' and t.state = 'pending' limit p_page)
            union all
            (select from kinfolk.held_task t
            where t.command_id = c.id and t.queue_id = q.id limit p_page)
        ) p
        union all
        select 'waiting', count(*)
        from (
            select from kinfolk.task t
            where t.command_id = c.id and t.queue_id = q.id and t.state = 'waiting' limit p_page
        ) w
    ) n
    where n.tasks > 0
    union all
    select r.queue_id, r.command_id, 'running', count(*)
    from (select t.queue_id, t.command_id from kinfolk.task t where t.state = 'running' limit p_page) r
    group by r.queue_id, r.command_id;
end
$$;
