-- The things that a task waits for, if its own work is over or its handler is suspended. Reads `fan_out_task` and
-- `task_fan_out`.
create or replace function kinfolk.why_waiting(p_task kinfolk.task)
returns table (nth integer, reason text, detail jsonb)
language sql stable
as $$
    select 1, 'children', jsonb_build_object(
        'tally', jsonb_build_object('total', c.total, 'completed', c.completed, 'failed', c.failed, 'cancelled', c.cancelled),
        'open', kinfolk.shown(array(
            select o.id
            from kinfolk.fan_out f
            cross join lateral (
                -- By `nth`, which is the order of their numbers too: in that of numbers all tasks there are would be looked through.
                select t.id
                from kinfolk.task t
                where t.fan_out_id = f.id
                    and t.state::text in ('pending', 'running', 'waiting')
                order by t.nth
                limit kinfolk.holders_shown_max()
            ) o
            where f.task_id = p_task.id
                and f.completed + f.failed + f.cancelled < f.total
            order by o.id
            limit kinfolk.holders_shown_max())))
    from (
        select sum(f.total) as total, sum(f.completed) as completed, sum(f.failed) as failed, sum(f.cancelled) as cancelled
        from kinfolk.fan_out f
        where f.task_id = p_task.id
    ) c
    where c.completed + c.failed + c.cancelled < c.total
    union all
    select 2, 'signal', jsonb_build_object('names', to_jsonb(p_task.signals))
    where p_task.signals is not null
    union all
    select 3, 'asleep', jsonb_build_object('until', p_task.due)
    where p_task.gate = 'time'
$$;
