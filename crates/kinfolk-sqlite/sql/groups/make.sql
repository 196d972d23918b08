-- make: a new group.
-- params: 1 command_id or null, 2 name, 3 slots, 4 rate_count, 5 rate_per, 6 rate_burst, 7 hold
insert into slot_group (command_id, name, slots, rate_count, rate_per, rate_burst, hold)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
returning id
