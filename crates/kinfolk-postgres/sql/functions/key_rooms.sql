-- How much room keys have now, none given twice, each with its place in the order given: what `kinfolk_core::admit` calls a room. `free`: slots that are not
-- taken; `starts`: how many the rate allows; both null where nothing limits them. `opens_at`: when a start is allowed
-- again, where none is. `interval_us`, `burst` and `spent_until` belong to the rate, if there is one. `kept_for`: the
-- task for which one unit is kept, if it `keeps` that now. `room`: how many of those that wait behind it may start: more than there are slots
-- for, where some may hold their slot already and have waited for the rate.
--
-- For one who has the admission locks and has taken the notes: those who are noted count as holders here. Reads the pages of
-- `slot` on which these keys stand; settings and spent rates only of groups that have some. Without
-- settings of its own, so that it is planned as a part of whoever asks.

create or replace function kinfolk.key_rooms(p_groups integer[], p_keys text[], p_now timestamptz)
returns table (
    nth bigint, group_id integer, key text, free bigint, starts bigint, opens_at timestamptz, interval_us bigint, burst integer,
    spent_until timestamptz, kept_for bigint, keeps boolean, room bigint
)
language sql stable
as $$
    with limits as materialized (
        select g.id, g.hold, coalesce(g.set_slots, g.slots) as slots,
            case when g.set_rate_count is null then kinfolk.rate_interval(g.rate_count, g.rate_per_us)
                else kinfolk.rate_interval(g.set_rate_count, g.set_rate_per_us) end as interval_us,
            case when g.set_rate_count is null then g.rate_burst else g.set_rate_burst end as burst,
            exists (select from kinfolk.slot_setting s where s.group_id = g.id) as has_settings,
            exists (select from kinfolk.spent s where s.group_id = g.id) as has_spent,
            r.key as kept_key, r.task_id as kept_for, kinfolk.keeps_room(r.task_id, p_now) as keeps,
            g.first_page, g.pages, g.spread
        from kinfolk.slot_group g
        left join kinfolk.reserved r on r.group_id = g.id
        where g.id = any (p_groups)
    ),
    asked as materialized (
        select k.nth, k.group_id, k.key, l.first_page, l.pages, l.spread
        from unnest(p_groups, p_keys) with ordinality as k(group_id, key, nth)
        join limits l on l.id = k.group_id
    ),
    -- No join: there may be thousands of keys and of holders.
    used as materialized (
        select u.group_id, u.key, min(u.nth) as nth, count(*) - 1 as held
        from (
            select a.nth, a.group_id, a.key from asked a
            union all
            select null, p.group_id, h.key
            from (
                select distinct a.group_id, kinfolk.slot_page(a.key, i, a.first_page, a.pages, a.spread) as page
                from asked a
                cross join lateral generate_series(0, a.spread - 1) as i
            ) p
            cross join lateral (
                select s.keys
                from kinfolk.slot s
                where s.group_id = p.group_id
                    and s.page = p.page
                offset 0
            ) s
            cross join lateral unnest(s.keys) as h(key)
        ) u
        group by u.group_id, u.key
        having min(u.nth) is not null
    )
    select k.nth, k.group_id, k.key, e.slots - k.held, r.starts, r.opens_at, e.interval_us, e.burst, p.spent_until,
        case when l.kept_key = k.key then l.kept_for end,
        coalesce(l.kept_key = k.key and l.keeps, false),
        least(case when l.hold and (e.interval_us is not null or p.is_there) then null else e.slots - k.held end, r.starts, 2147483647)
            - coalesce(l.kept_key = k.key and l.keeps, false)::integer
    from used k
    join limits l on l.id = k.group_id
    left join lateral (
        select s.slots, s.rate_burst as burst, kinfolk.rate_interval(s.rate_count, s.rate_per_us) as interval_us
        from kinfolk.slot_setting s
        where l.has_settings
            and s.group_id = k.group_id
            and s.key = k.key
        offset 0
    ) s on true
    left join lateral (
        select s.spent_until, s.paused_until, true as is_there
        from kinfolk.spent s
        where l.has_spent
            and s.group_id = k.group_id
            and s.key = k.key
        offset 0
    ) p on true
    cross join lateral (
        select coalesce(s.slots, l.slots) as slots, coalesce(s.interval_us, l.interval_us) as interval_us,
            case when s.interval_us is null then l.burst else s.burst end as burst
    ) e
    cross join lateral (
        select
            case
                when p.paused_until > p_now then 0
                else kinfolk.rate_starts(e.interval_us, e.burst, p.spent_until, p_now)
            end as starts,
            greatest(
                case when p.paused_until > p_now then p.paused_until end,
                case when kinfolk.rate_starts(e.interval_us, e.burst, p.spent_until, p_now) <= 0
                    then p.spent_until - (e.burst - 1) * e.interval_us * interval '1 microsecond' end) as opens_at
    ) r
$$;

-- Whether what is kept for a task counts: nothing but slots that others hold keeps it from starting now. Its queue is not
-- paused, a live worker handles its command there, and no key of it is shut by a limit of 0, slowed down or out of starts. Else
-- its keys would be shut for everybody. Says nothing of a task that is null. Reads the row of the task, and by their keys what is
-- declared, set and spent.
create or replace function kinfolk.keeps_room(p_task bigint, p_now timestamptz) returns boolean
language sql stable strict
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from kinfolk.task t
        join kinfolk.queue q on q.id = t.queue_id
        join kinfolk.command c on c.id = t.command_id
        where t.id = p_task
            and t.state = 'pending'
            and q.paused_at is null
            and exists (
                select
                from kinfolk.worker w
                where w.lease_until >= p_now
                    and q.name = any (w.queues)
                    and c.name = any (w.commands))
            and not exists (
                select
                from kinfolk.command_group cg
                join kinfolk.slot_group g on g.id = cg.group_id
                left join kinfolk.slot_setting s on s.group_id = g.id and s.key = coalesce(t.keys ->> cg.name, '')
                left join kinfolk.spent p on p.group_id = g.id and p.key = coalesce(t.keys ->> cg.name, '')
                where cg.command_id = t.command_id
                    and (cg.name = 'total' or t.keys ? cg.name)
                    and (coalesce(s.slots, g.set_slots, g.slots) = 0
                        or p.paused_until > p_now
                        or case
                            when s.rate_count is not null then kinfolk.rate_starts(
                                kinfolk.rate_interval(s.rate_count, s.rate_per_us), s.rate_burst, p.spent_until, p_now)
                            when g.set_rate_count is not null then kinfolk.rate_starts(
                                kinfolk.rate_interval(g.set_rate_count, g.set_rate_per_us), g.set_rate_burst,
                                p.spent_until, p_now)
                            else kinfolk.rate_starts(
                                kinfolk.rate_interval(g.rate_count, g.rate_per_us), g.rate_burst, p.spent_until, p_now)
                        end <= 0)))
$$;

-- The span between two starts under a rate: `kinfolk_core::group::Rate::interval_us`.
create or replace function kinfolk.rate_interval(p_count integer, p_per_us bigint) returns bigint
language sql immutable
as $$ select p_per_us / p_count + (p_per_us % p_count <> 0)::integer $$;

-- How many may start now under a rate of which this much is spent: `kinfolk_core::admit::starts`.
create or replace function kinfolk.rate_starts(
    p_interval_us bigint, p_burst integer, p_spent_until timestamptz, p_now timestamptz
) returns bigint
language sql immutable
as $$
    select greatest(
        p_burst * p_interval_us
            - greatest(coalesce((extract(epoch from p_spent_until - p_now) * 1000000)::bigint, 0), 0),
        0) / p_interval_us
$$;

-- Takes one start for each of these keys, which may be given more than once, where there is a rate:
-- `kinfolk_core::admit::spend`. The caller has the admission locks.
create or replace function kinfolk.spend_starts(p_groups integer[], p_keys text[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.spent as s (group_id, key, spent_until)
    select r.group_id, r.key, greatest(r.spent_until, p_now) + d.many[r.nth] * r.interval_us * interval '1 microsecond'
    from (
        select array_agg(u.group_id) as groups, array_agg(u.key) as keys, array_agg(u.many) as many
        from (
            select k.group_id, k.key, count(*) as many
            from unnest(p_groups, p_keys) as k(group_id, key)
            group by k.group_id, k.key
        ) u
    ) d
    cross join lateral kinfolk.key_rooms(d.groups, d.keys, p_now) r
    where r.interval_us is not null
    on conflict (group_id, key) do update set spent_until = excluded.spent_until;
end
$$;

-- Has what was spent of the keys of a group, or of one of them, under another rate count no longer than the whole burst of
-- the one that there is now. The caller has the admission lock.
create or replace function kinfolk.rein_in(p_group integer, p_now timestamptz, p_key text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.spent s
    set spent_until = p_now + r.burst * r.interval_us * interval '1 microsecond'
    from (
        select array_agg(s.group_id) as groups, array_agg(s.key) as keys
        from kinfolk.spent s
        where s.group_id = p_group
            and (p_key is null or s.key = p_key)
            and s.spent_until > p_now
    ) k
    cross join lateral kinfolk.key_rooms(k.groups, k.keys, p_now) r
    where s.group_id = r.group_id
        and s.key = r.key
        and s.spent_until > p_now + r.burst * r.interval_us * interval '1 microsecond';
end
$$;
