-- Looks again at the ready keys of this queue that the claim saw, and at the keys behind which it blocked tasks, at the end
-- of a claim of these commands. A key with both room and a waiter stays or becomes ready. Any other key is no longer ready.
-- Where a rate is in the way, stores when it allows a start again.
--
-- The caller has the admission locks. Reads the pages of these keys, `ready_key` by its key, and heads of lines in `task_blocked`. One
-- statement: it decides over the same rooms which keys it removes and which it adds. Runs under the settings of the claim.
create or replace function kinfolk.update_ready_keys(p_queue integer, p_commands integer[], p_groups integer[], p_keys text[], p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    with listed as materialized (
        select array_agg(l.group_id) as groups, array_agg(l.key) as keys
        from (select distinct k.group_id, k.key from unnest(p_groups, p_keys) as k(group_id, key)) l
    ),
    room as materialized (
        select r.group_id, r.key, c.id as command_id, r.opens_at, r.room > 0 as has_room, least(r.starts, 2) <= r.keeps::integer as is_slow
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
        cross join unnest(p_commands) as c(id)
    ),
    awaited as materialized (
        select r.*, w.is_there is not null as has_waiter, m.row_id
        from room r
        left join lateral (
            select m.ctid as row_id
            from kinfolk.ready_key m
            where m.queue_id = p_queue
                and m.command_id = r.command_id
                and m.group_id = r.group_id
                and m.key = r.key
            offset 0
        ) m on true
        left join lateral (
            select true as is_there
            from kinfolk.task t
            where t.blocked_group = r.group_id
                and t.blocked_key = r.key
                and t.queue_id = p_queue
                and t.command_id = r.command_id
                and t.gate = 'limit'
            limit 1
        ) w on true
    ),
    removed as (
        delete from kinfolk.ready_key m
        where m.ctid = any (array(select a.row_id from awaited a where not (a.has_room and a.has_waiter)))
    ),
    added as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select p_queue, a.command_id, a.group_id, a.key
        from awaited a
        where a.has_room
            and a.has_waiter
            and a.row_id is null
        on conflict do nothing
    )
    insert into kinfolk.spent (group_id, key, wakes_at)
    select distinct on (a.group_id, a.key) a.group_id, a.key, a.opens_at
    from awaited a
    where a.is_slow
        and a.has_waiter
        and a.opens_at is not null
    on conflict (group_id, key) do update set wakes_at = excluded.wakes_at;
end
$$;
