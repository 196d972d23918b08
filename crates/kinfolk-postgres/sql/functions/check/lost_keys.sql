-- Keys that have room, and behind which tasks of a command wait on a queue, though nothing would have a claim look at
-- them: a wake-up was lost. Reads `task_blocked` from line to line.
create or replace function kinfolk.lost_keys()
returns table (group_id integer, key text, queue_id integer, command_id integer)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with recursive awaited as (
        (
            select t.blocked_group as group_id, t.blocked_key as key
            from kinfolk.task t
            where t.gate = 'limit'
            order by t.blocked_group, t.blocked_key
            limit 1
        )
        union all
        select n.group_id, n.key
        from awaited a
        cross join lateral (
            select t.blocked_group as group_id, t.blocked_key as key
            from kinfolk.task t
            where (t.blocked_group, t.blocked_key) > (a.group_id, a.key)
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key
            limit 1
        ) n
    )
    select r.group_id, r.key, w.queue_id, w.command_id
    from (select array_agg(a.group_id) as groups, array_agg(a.key) as keys from awaited a) a
    cross join lateral kinfolk.key_rooms(a.groups, a.keys, kinfolk.clock()) r
    cross join lateral kinfolk.waiting_lines(r.group_id, r.key) w
    -- Where a group holds slots, some may wait for its rate who have theirs; those are woken by time.
    where least(r.free, r.starts, 2) > (r.kept_for is not null)::integer
        and not exists (
            select
            from kinfolk.freed f
            where f.group_id = r.group_id
                and r.key = any (f.keys))
        and not exists (
            select
            from kinfolk.spent s
            where s.group_id = r.group_id
                and s.key = r.key
                and s.wakes_at is not null)
        and not exists (
            select
            from kinfolk.ready_key m
            where m.queue_id = w.queue_id
                and m.command_id = w.command_id
                and m.group_id = r.group_id
                and m.key = r.key)
$$;
