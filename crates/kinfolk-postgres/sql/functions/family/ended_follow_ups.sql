-- The follow-ups of a queue one of whose families has ended. `waiting`: those that wait for other families too. `settled`: one page
-- of those that do not, by number. One row. Locks nothing. Reads `follow_up_ended` once for each follow-up, not for each family,
-- and `follow_up_task`.
create or replace function kinfolk.ended_follow_ups(p_queue integer) returns table (waiting bigint[], settled bigint[])
language sql stable
as $$
    with recursive follow_up as (
        (
            select f.task_id
            from kinfolk.follow_up f
            where f.queue_id = p_queue
                and f.ended is not null
            order by f.queue_id, f.task_id
            limit 1
        )
        union all
        select (
            select f.task_id
            from kinfolk.follow_up f
            where f.queue_id = p_queue
                and f.ended is not null
                and f.task_id > u.task_id
            order by f.queue_id, f.task_id
            limit 1
        )
        from follow_up u
        where u.task_id is not null
    ),
    looked_at as (
        select u.task_id,
            exists (select from kinfolk.follow_up o where o.task_id = u.task_id and o.ended is null) as is_waiting
        from follow_up u
        where u.task_id is not null
    )
    select array_agg(l.task_id) filter (where l.is_waiting),
        (array_agg(l.task_id order by l.task_id) filter (where not l.is_waiting))[:kinfolk.sweep_page()]
    from looked_at l
$$;
