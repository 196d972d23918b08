-- remove_slot: a group goes; its rows of slot go first.
-- params: 1 group_id
-- index:  slot, by group
delete from slot
where group_id = ?1
