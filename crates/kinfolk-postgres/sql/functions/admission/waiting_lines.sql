-- The queues and commands with tasks behind a key. Steps through `task_blocked` from one line to the next, however many tasks
-- wait in each.
create or replace function kinfolk.waiting_lines(p_group integer, p_key text)
returns table (queue_id integer, command_id integer)
language sql stable
as $$
    with recursive line as (
        (
            select t.queue_id, t.command_id
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.blocked_key = p_key
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id
            limit 1
        )
        union all
        select n.queue_id, n.command_id
        from line l
        cross join lateral (
            select t.queue_id, t.command_id
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.blocked_key = p_key
                and t.gate = 'limit'
                and (t.queue_id, t.command_id) > (l.queue_id, l.command_id)
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id
            limit 1
        ) n
    )
    select l.queue_id, l.command_id from line l
$$;
