-- The open tasks of a queue.
create or replace function kinfolk.claimable(p_queue text, p_commands text[]) returns bigint[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select t.id
        from kinfolk.task t
        where t.queue_id = (select q.id from kinfolk.queue q where q.name = p_queue)
            and t.state = 'pending'
            and t.gate = 'open'
            and t.command_id in (select c.id from kinfolk.command c where c.name = any (p_commands)))
$$;
