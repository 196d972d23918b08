-- The pending task of a queue that is due next, later than now; null where there is none. Locks nothing; reads `task_due`.

create or replace function kinfolk.due_next(p_queue text) returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select t.id
    from kinfolk.task t
    where t.queue_id = (select q.id from kinfolk.queue q where q.name = p_queue)
        and t.gate = 'time'
        and t.state = 'pending'
    order by t.due, t.id
    limit 1
$$;
