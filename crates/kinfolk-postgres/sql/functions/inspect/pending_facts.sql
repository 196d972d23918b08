-- How many pending tasks there are on each queue (null: on all), told apart by what the indexes tell, each counted up to one
-- more than `look_max`: `time`, not due; `after` and `limit`, behind these gates, `limit` by key, if one holds them; `open` by
-- command. `until`: the key allows no start before. `served`: a live worker claims from the queue and handles the command.
-- Reads `task_due`, and what `open_facts` and `held_facts` read.

create or replace function kinfolk.pending_facts(p_queue text default null)
returns table (
    queue text, paused boolean, fair boolean, fact text, command text, served boolean, group_name text, group_command text,
    key text, until timestamptz, tasks bigint, cut boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_page constant integer := kinfolk.look_max() + 1;
begin
    return query
    select q.name, q.paused_at is not null, q.fair is not null, f.fact, c.name, exists (
            select
            from kinfolk.worker w
            where w.lease_until >= v_now
                and q.name = any (w.queues)
                and c.name = any (w.commands)), g.name, o.name, f.key, r.opens_at, f.tasks, f.cut
    from (
        select d.queue_id, 'time' as fact, null::integer as command_id, null::integer as group_id, null as key, d.tasks, false as cut
        from (
            select q.id as queue_id, n.tasks
            from kinfolk.queue q
            cross join lateral (
                select count(*) as tasks
                from (
                    select
                    from kinfolk.task t
                    where t.queue_id = q.id and t.gate = 'time' and t.due > v_now and t.state = 'pending'
                    limit v_page
                ) l
            ) n
        ) d
        union all
        select o.*, false from kinfolk.open_facts(v_now, v_page) o
        union all
        select * from kinfolk.held_facts(v_page)
    ) f
    join kinfolk.queue q on q.id = f.queue_id
    left join kinfolk.command c on c.id = f.command_id
    left join kinfolk.slot_group g on g.id = f.group_id
    left join kinfolk.command o on o.id = g.command_id
    left join lateral kinfolk.key_rooms(array[g.id], array[f.key], v_now) r on g.id is not null
    where f.tasks > 0
        and (p_queue is null or q.name = p_queue);
end
$$;
