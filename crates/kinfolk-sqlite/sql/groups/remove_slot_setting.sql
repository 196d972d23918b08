-- remove_slot_setting: a group goes; its rows of slot_setting go first.
-- params: 1 group_id
-- index:  slot_setting, by group
delete from slot_setting
where group_id = ?1
