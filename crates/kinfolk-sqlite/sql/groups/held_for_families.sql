-- held_for_families: who of a command's tasks holds slots of a group, and of which keys, if the group holds them for families.
-- params: 1 group_id, 2 command_id
-- index:  slot, by group; tasks and groups by number
select slot.task_id,
       slot.key
from slot
join task on task.id = slot.task_id
join slot_group on slot_group.id = slot.group_id
where slot.group_id = ?1
  and task.command_id = ?2
  and slot_group.hold = 1
