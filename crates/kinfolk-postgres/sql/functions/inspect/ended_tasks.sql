-- The ended tasks that counts look at: those that completed among the newest `look_max`, and as many that failed or were cancelled
-- last. Locks nothing; reads the primary key from its end, and `task_not_completed` from its end in each state.

create or replace function kinfolk.ended_tasks()
returns table (queue_id integer, command_id integer, state kinfolk.state)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select n.queue_id, n.command_id, n.state
    from (
        select t.queue_id, t.command_id, t.state
        from kinfolk.task t
        order by t.id desc
        limit kinfolk.look_max()
    ) n
    where n.state = 'completed'
    union all
    (
        select t.queue_id, t.command_id, t.state
        from kinfolk.task t
        where t.state = 'failed' and t.state in ('failed', 'cancelled')
        order by t.finished_at desc, t.id desc
        limit kinfolk.look_max()
    )
    union all
    (
        select t.queue_id, t.command_id, t.state
        from kinfolk.task t
        where t.state = 'cancelled' and t.state in ('failed', 'cancelled')
        order by t.finished_at desc, t.id desc
        limit kinfolk.look_max()
    )
$$;
