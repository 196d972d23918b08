-- Opens the gate of the first tasks behind keys, of each line as many as the key has room for, and of the task for which the key keeps
-- room: it becomes `ready`, and a claim finds them at their old position. `p_slack`: how many more to open. `p_taken`: tasks that the
-- claim starts; these are no waiters any more. A task that another call has locked is left to the next claim, by a hint. Wakes the
-- other queues. Answers whether a task was opened.
--
-- The caller has the admission locks. Locks tasks, never waiting. Reads the pages of these keys, and `task_blocked`.
create or replace function kinfolk.open_waiters(
    p_groups integer[], p_keys text[], p_queue integer, p_slack integer, p_taken bigint[], p_now timestamptz
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_opened record;
begin
    with room as materialized (
        select r.* from kinfolk.awaited_rooms(p_groups, p_keys, p_now) r
    ),
    foremost as materialized (
        select f.id, r.group_id, r.key
        from room r
        cross join lateral kinfolk.foremost_waiters(r.group_id, r.key, case when r.room > 0 then r.room + p_slack else 0 end,
            r.free <= 0, case when least(r.free, 1) > 0 then r.kept_for end, p_taken) f
    ),
    locked as materialized (
        select f.group_id, f.key, t.id
        from foremost f
        left join lateral (
            select t.id
            from kinfolk.task t
            where t.id = f.id
                and t.gate::text = 'limit'
            for update skip locked
        ) t on true
    ),
    opened as (
        update kinfolk.task t
        set gate = 'ready'
        from locked l
        where t.id = l.id
        returning t.queue_id
    ),
    missed as (
        insert into kinfolk.freed (group_id, keys, tasks)
        select l.group_id, array_agg(distinct l.key), '{}'
        from locked l
        where l.id is null
        group by l.group_id
    )
    select count(*) > 0 as is_any, array_agg(distinct o.queue_id) filter (where o.queue_id <> p_queue) as others
    into v_opened
    from opened o;
    if v_opened.others is not null then
        perform kinfolk.notify_queues(v_opened.others, false);
    end if;
    return v_opened.is_any;
end
$$;
