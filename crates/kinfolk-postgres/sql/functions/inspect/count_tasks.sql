-- How many tasks of each command are in each state on each queue: what is pending or waiting up to one more than `look_max`, what
-- runs among so many in all, what has completed among the newest `look_max` tasks, what has failed or was cancelled among as many
-- that ended last. Locks nothing. Reads what `count_open` and `ended_tasks` read, so that it costs the same however many there are.

create or replace function kinfolk.count_tasks()
returns table (queue text, command text, state text, tasks bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select q.name, c.name, n.state, least(n.tasks, kinfolk.look_max() + 1)
    from (
        select o.queue_id, o.command_id, o.state, o.tasks from kinfolk.count_open(kinfolk.look_max() + 1) o
        union all
        select e.queue_id, e.command_id, e.state::text, count(*) from kinfolk.ended_tasks() e group by 1, 2, 3
    ) n
    join kinfolk.queue q on q.id = n.queue_id
    join kinfolk.command c on c.id = n.command_id
    order by q.name, c.name, n.state::kinfolk.state
$$;
