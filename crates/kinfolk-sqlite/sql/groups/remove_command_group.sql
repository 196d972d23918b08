-- remove_command_group: a group goes; its rows of command_group go first.
-- params: 1 group_id
-- index:  command_group, by group
delete from command_group
where group_id = ?1
