-- leave_reserved: a command leaves a shared group; nothing is kept there for its tasks any more.
-- params: 1 group_id, 2 command_id
-- index:  reserved, by group; tasks by number
delete from reserved
where group_id = ?1
  and exists (
      select 1
      from task
      where task.id = reserved.task_id
        and task.command_id = ?2
  )
