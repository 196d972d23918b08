-- leave_slots: a command leaves a shared group; its tasks hold no slots there any more.
-- params: 1 group_id, 2 command_id
-- index:  slot_holder, by group; tasks by number
delete from slot_holder
where group_id = ?1
  and exists (
      select 1
      from task
      where task.id = slot_holder.task_id
        and task.command_id = ?2
  )
