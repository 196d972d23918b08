-- held_for_families: the tasks of a command that hold slots of a group, and their keys, if the group holds them for families.
-- params: 1 group_id, 2 command_id
-- index:  slot_holder, by group; tasks and groups by number
select slot_holder.task_id,
       slot_holder.key
from slot_holder
join task on task.id = slot_holder.task_id
join slot_group on slot_group.id = slot_holder.group_id
where slot_holder.group_id = ?1
  and task.command_id = ?2
  and slot_group.hold = 1
