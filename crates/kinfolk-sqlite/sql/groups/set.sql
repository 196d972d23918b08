-- set: an operator's setting for all keys of a group; null is as it is declared.
-- params: 1 id, 2 slots, 3 rate_count, 4 rate_per, 5 rate_burst
-- index:  by number
update slot_group
set set_slots      = ?2,
    set_rate_count = ?3,
    set_rate_per   = ?4,
    set_rate_burst = ?5
where id = ?1
