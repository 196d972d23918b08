-- Opens the follow-ups of a queue that have no family left to wait for, one page of them by number. Cancels follow-ups that
-- need a completed family and do not get one. Answers whether it opened a task of a command that is not among those given.
--
-- Reads `follow_up_ended` once for each follow-up, not for each family, and `follow_up_task`. Locks the follow-ups by number,
-- skips those that another call has locked, and decides afterwards: a family that joins a follow-up locks it first.

create or replace function kinfolk.open_follow_ups(p_queue integer, p_commands text[], p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_waiting bigint[];
    v_settled bigint[];
    v_skipped bigint[];
    v_spoilers bigint[];
    v_opened bigint[];
    v_for_others boolean;
begin
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
    into v_waiting, v_settled
    from looked_at l;

    -- point: follow_ups.looked
    -- What a family that has ended well has to say to a follow-up that waits for others too is said. Whether it still waits is
    -- asked again in this very statement: what is open in its snapshot is not deleted by it, so one entry always remains.
    delete from kinfolk.follow_up f
    where (f.root_id, f.task_id) in (
        select e.root_id, e.task_id
        from unnest(v_waiting) as w(id)
        cross join lateral (
            select
            from kinfolk.follow_up o
            where o.task_id = w.id
                and o.ended is null
            limit 1
        ) o
        join kinfolk.follow_up e on e.task_id = w.id
        where e.ended is not null
            and (e.ended = 'completed' or not e.needs_completed)
        limit kinfolk.sweep_page()
        for update of e skip locked);

    with settled as materialized (
        select t.id
        from kinfolk.task t
        where t.id = any (v_settled)
            and t.state = 'pending'
        order by t.id
        for update skip locked
    )
    select array_agg(s.id order by s.id) into v_settled from settled s;
    if v_settled is null then
        return false;
    end if;

    with judged as (
        select f.task_id, min(f.root_id) filter (where f.needs_completed and f.ended <> 'completed') as spoiler
        from kinfolk.follow_up f
        where f.task_id = any (v_settled)
        group by f.task_id
        having bool_and(f.ended is not null)
    )
    select array_agg(j.task_id order by j.task_id) filter (where j.spoiler is null),
        array_agg(j.task_id order by j.task_id) filter (where j.spoiler is not null),
        array_agg(j.spoiler order by j.task_id) filter (where j.spoiler is not null)
    into v_opened, v_skipped, v_spoilers
    from judged j;
    with opened as (
        update kinfolk.task t
        set gate = case when t.due > p_now then 'time'::kinfolk.gate else 'open'::kinfolk.gate end
        where t.id = any (v_opened)
        returning t.command_id
    )
    select bool_or(c.name <> all (p_commands))
    into v_for_others
    from (select distinct o.command_id from opened o) o
    join kinfolk.command c on c.id = o.command_id;
    perform kinfolk.skip_follow_ups(v_skipped, v_spoilers, p_now);
    delete from kinfolk.follow_up f where f.task_id = any (v_opened || v_skipped);
    return coalesce(v_for_others, false);
end
$$;
