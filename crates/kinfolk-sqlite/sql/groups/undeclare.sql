-- undeclare: a command declares a group no longer.
-- params: 1 command_id, 2 group_id
-- index:  command_group, by command
delete from command_group
where command_id = ?1
  and group_id = ?2
