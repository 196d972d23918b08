-- of_command: the groups that a command declares, and whether they are shared.
-- params: 1 command_id
-- index:  command_group, by command; groups by number
select command_group.name,
       command_group.group_id,
       slot_group.command_id is null
from command_group
join slot_group on slot_group.id = command_group.group_id
where command_group.command_id = ?1
order by command_group.name
