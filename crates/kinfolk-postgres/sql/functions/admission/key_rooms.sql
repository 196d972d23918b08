-- The room of keys, each given once and numbered in the order given: a room of `kinfolk_core::admit`. `free`: slots that no
-- task holds; `starts`: starts that the rate allows; both are null where nothing limits them. `opens_at`: the next allowed
-- start, where none is allowed now. `interval_us`, `burst` and `spent_until` belong to the rate, if there is one. `kept_for`:
-- the task with a reservation; `keeps`: that reservation counts now. `room`: how many tasks behind the key may start. It
-- exceeds the free slots where waiting tasks may hold their slot already and wait for the rate.
--
-- For a caller that has the admission locks and has taken the hints: tasks named by a later hint still count as holders.
-- Reads the pages of these keys in `slot_holder`, and settings and spent rates only of groups that have some. Has no settings
-- of its own, so that the planner inlines it.

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
                from kinfolk.slot_holder s
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
