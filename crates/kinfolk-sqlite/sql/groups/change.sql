-- change: a group is declared as something else from now on.
-- params: 1 id, 2 slots, 3 rate_count, 4 rate_per, 5 rate_burst, 6 hold
-- index:  by number
update slot_group
set slots      = ?2,
    rate_count = ?3,
    rate_per   = ?4,
    rate_burst = ?5,
    hold       = ?6
where id = ?1
