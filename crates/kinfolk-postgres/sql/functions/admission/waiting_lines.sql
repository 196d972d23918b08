-- The lines of tasks behind a key, by queue, command and lane, suspects apart. Steps through `task_blocked` from one line to the
-- next, however many tasks wait in each.
create or replace function kinfolk.waiting_lines(p_group integer, p_key text)
returns table (queue_id integer, command_id integer, lane kinfolk.lane, suspect boolean)
language sql stable
as $$
    with recursive line as (
        (
            select t.queue_id, t.command_id, t.lane, t.suspect
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.blocked_key = p_key
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id, t.lane, t.suspect
            limit 1
        )
        union all
        select n.queue_id, n.command_id, n.lane, n.suspect
        from line l
        cross join lateral (
            select t.queue_id, t.command_id, t.lane, t.suspect
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.blocked_key = p_key
                and (t.queue_id, t.command_id, t.lane, t.suspect) > (l.queue_id, l.command_id, l.lane, l.suspect)
            order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id, t.lane, t.suspect
            limit 1
        ) n
    )
    select l.queue_id, l.command_id, l.lane, l.suspect from line l
$$;
