-- unset_key: nothing is set for one key of a group any more.
-- params: 1 group_id, 2 key
-- index:  slot_setting, by group and key
delete from slot_setting
where group_id = ?1
  and key = ?2
