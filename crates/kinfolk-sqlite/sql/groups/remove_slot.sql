-- remove_slot: a group goes; its rows of slot go first.
-- params: 1 group_id
-- index:  slot_holder, by group
delete from slot_holder
where group_id = ?1
