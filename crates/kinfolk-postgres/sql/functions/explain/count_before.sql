-- How many open tasks of its queue stand before a task, counted no further than a page. Reads `task_ready` and `task_suspect` by
-- command, and on a queue with a fair key the lines that `sort_in` has made.
create or replace function kinfolk.count_before(p_task kinfolk.task) returns bigint
language sql stable
as $$
    select count(*)
    from (
        select
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select
            from kinfolk.any_open t
            where t.queue_id = p_task.queue_id
                and t.lane = l.lane
                and t.command_id = c.id
                and (t.priority, t.position, t.id) < (p_task.priority, p_task.position, p_task.id)
            limit kinfolk.page_max()
        ) before
        union all
        select
        from kinfolk.turn_lines(p_task.queue_id) l
        cross join lateral (
            select
            from kinfolk.task t
            where t.queue_id = p_task.queue_id
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.suspect = l.suspect
                and t.priority = l.priority
                and t.fair_value = l.value
                and t.gate = 'turn'
                and (t.position, t.id)
                    < (case when l.priority < p_task.priority then 'infinity' else p_task.position end, p_task.id)
            limit kinfolk.page_max()
        ) before
        where l.priority <= p_task.priority
        limit kinfolk.page_max()
    ) counted
$$;
