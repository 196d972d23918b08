-- How many tasks of each command are in each state on each queue: what is pending, running or waiting to the last one, what has
-- completed among the newest `look_max` tasks, what has failed or was cancelled among as many that ended last. Locks nothing.
-- Reads `task_ready`, `task_suspect`, `task_due`, `task_held`, `task_running`, `task_waiting`, `task_not_completed` and the end of
-- the primary key, so that it costs nothing for what ended long ago.

create or replace function kinfolk.count_tasks()
returns table (queue text, command text, state text, tasks bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select q.name, c.name, n.state, sum(n.tasks)::bigint
    from (
        select t.queue_id, t.command_id, 'pending' as state, count(*) as tasks
        from kinfolk.task t
        where t.state = 'pending' and t.gate = 'open' and not t.suspect
        group by t.queue_id, t.command_id
        union all
        select t.queue_id, t.command_id, 'pending', count(*)
        from kinfolk.task t
        where t.state = 'pending' and t.gate = 'open' and t.suspect
        group by t.queue_id, t.command_id
        union all
        select t.queue_id, t.command_id, 'pending', count(*)
        from kinfolk.task t
        where t.gate = 'time' and t.state = 'pending'
        group by t.queue_id, t.command_id
        union all
        select t.queue_id, t.command_id, 'pending', count(*)
        from kinfolk.task t
        where t.gate in ('limit', 'after') and t.state = 'pending'
        group by t.queue_id, t.command_id
        union all
        select t.queue_id, t.command_id, 'running', count(*) from kinfolk.task t where t.state = 'running' group by 1, 2
        union all
        select t.queue_id, t.command_id, 'waiting', count(*) from kinfolk.task t where t.state = 'waiting' group by 1, 2
        union all
        select e.queue_id, e.command_id, e.state::text, count(*) from kinfolk.ended_tasks() e group by 1, 2, 3
    ) n
    join kinfolk.queue q on q.id = n.queue_id
    join kinfolk.command c on c.id = n.command_id
    group by q.name, c.name, n.state
    order by q.name, c.name, n.state::kinfolk.state
$$;
