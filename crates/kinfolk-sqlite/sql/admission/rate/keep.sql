-- keep: how much of a key's rate is spent, until when it is slowed down, and when it is to be looked at again.
-- params: 1 group_id, 2 key, 3 spent_until, 4 paused_until, 5 wakes_at
insert into spent (group_id, key, spent_until, paused_until, wakes_at, over_at)
values (?1, ?2, ?3, ?4, ?5, max(coalesce(?3, 0), coalesce(?4, 0)))
on conflict (group_id, key) do update
set spent_until  = excluded.spent_until,
    paused_until = excluded.paused_until,
    wakes_at     = excluded.wakes_at,
    over_at      = excluded.over_at
