-- remove_ready_of_group: the ready waiters behind the keys of a group, of this command or of any, are ready waiters no more.
-- params: 1 group_id, 2 command_id or null
-- index:  the whole table, which is small; tasks by number
delete from ready_waiter
where (?2 is null or command_id = ?2)
  and exists (
      select 1
      from task
      where task.id = ready_waiter.task_id
        and task.blocked_group = ?1
  )
