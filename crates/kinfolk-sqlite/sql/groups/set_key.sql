-- set_key: an operator's setting for one key of a group; null is as for all keys.
-- params: 1 group_id, 2 key, 3 slots, 4 rate_count, 5 rate_per, 6 rate_burst
insert into slot_setting (group_id, key, slots, rate_count, rate_per, rate_burst)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (group_id, key) do update
set slots      = excluded.slots,
    rate_count = excluded.rate_count,
    rate_per   = excluded.rate_per,
    rate_burst = excluded.rate_burst
