-- uncounted: running tasks that hold no slot of one of their keys, though none above them holds it for the family: the task, what
-- is wrong, the group and the key.
-- params: none
-- index:  task_running_idx, all of it; declared groups by command, groups and tasks by number; slot, by all it has
select task.id,
       'holds no slot of ' || slot_group.name,
       slot_group.id,
       iif(command_group.name = 'total', '', task.keys ->> ('$."' || command_group.name || '"'))
from task
cross join command_group on command_group.command_id = task.command_id
cross join slot_group on slot_group.id = command_group.group_id
where task.worker is not null
  and (command_group.name = 'total' or task.keys ->> ('$."' || command_group.name || '"') is not null)
  and not exists (
      with recursive above as (
          select task.id as id
          union all
          select upper.parent_id
          from above
          join task as upper on upper.id = above.id
          where upper.parent_id is not null
            and slot_group.hold = 1
      )
      select 1
      from above
      cross join slot_holder on slot_holder.group_id = slot_group.id
                     and slot_holder.key = iif(command_group.name = 'total', '', task.keys ->> ('$."' || command_group.name || '"'))
                     and slot_holder.task_id = above.id
  )
