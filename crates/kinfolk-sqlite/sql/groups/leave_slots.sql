-- leave_slots: a command leaves a shared group; its tasks hold no slots there any more.
-- params: 1 group_id, 2 command_id
-- index:  slot, by group; tasks by number
delete from slot
where group_id = ?1
  and exists (
      select 1
      from task
      where task.id = slot.task_id
        and task.command_id = ?2
  )
