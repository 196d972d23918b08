-- held_slots: slots that are held wrongly: by a task that does not run, unless the group holds until the task ends, and
-- by a task that does not know of them.
-- params: none
-- index:  the whole table; tasks and groups by number
select slot_holder.task_id,
       'is ' || coalesce(task.state, 'gone') || ' and holds a slot of ' || coalesce(slot_group.name, 'no group') || ' '
       || slot_holder.key
from slot_holder
left join slot_group on slot_group.id = slot_holder.group_id
left join task on task.id = slot_holder.task_id
where slot_group.id is null
   or task.id is null
   or task.holds_slots = 0
   or task.runs = 0
   or not (task.state = 'running' or (slot_group.hold = 1 and task.finished_at is null))
