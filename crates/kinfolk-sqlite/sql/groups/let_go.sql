-- let_go: slots of a group are held only while a task runs from now on.
-- params: 1 group_id
-- index:  slot_holder, by group; tasks by number
delete from slot_holder
where group_id = ?1
  and not exists (
      select 1
      from task
      where task.id = slot_holder.task_id
        and task.state = 'running'
  )
