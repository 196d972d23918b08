-- Turns events at keys since the last claim into ready keys. A freed hint, a rate that allows a start again, and a
-- reservation that does not count now can each make a key ready. Wakes other queues that get ready keys.
--
-- The caller has the admission locks of these groups. Takes due keys by `spent_wakes`; reads `task_blocked`.

create or replace function kinfolk.add_ready_keys(p_queue integer, p_groups integer[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- No other claim blocks a task behind these keys meanwhile.
    v_awaited integer[] := kinfolk.awaited_groups(p_groups);
    v_freed record;
    v_unkept record;
    v_others integer[];
begin
    select n.groups, n.keys into v_freed from kinfolk.take_freed(p_groups, v_awaited <> '{}') n;
    if v_awaited = '{}' then
        return;
    end if;
    select u.groups, u.keys into v_unkept from kinfolk.unkept_keys(p_groups, p_now) u;
    with woken as (
        update kinfolk.spent s
        set wakes_at = null
        where s.group_id = any (p_groups)
            and s.wakes_at <= p_now
        returning s.group_id, s.key
    ),
    ready as materialized (
        select f.group_id, f.key
        from unnest(v_freed.groups, v_freed.keys) as f(group_id, key)
        where f.group_id = any (v_awaited)
        union
        select u.group_id, u.key from unnest(v_unkept.groups, v_unkept.keys) as u(group_id, key)
        union
        select w.group_id, w.key from woken w
    ),
    -- Most keys have no task behind them: one look is enough for them.
    awaited as materialized (
        select r.group_id, r.key
        from ready r
        cross join lateral (
            select
            from kinfolk.task t
            where t.blocked_group = r.group_id
                and t.blocked_key = r.key
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key, t.queue_id
            limit 1
        ) w
    ),
    added as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select w.queue_id, w.command_id, a.group_id, a.key
        from awaited a
        cross join lateral kinfolk.waiting_lines(a.group_id, a.key) w
        on conflict do nothing
        returning queue_id
    )
    select array_agg(distinct m.queue_id) filter (where m.queue_id <> p_queue) into v_others from added m;
    if v_others is not null then
        perform kinfolk.notify_queues(v_others, false);
    end if;
end
$$;
