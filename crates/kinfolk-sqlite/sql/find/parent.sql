-- parent: the children of a task.
-- params: 1 task_id, 2 page
-- index:  fan_out_task_idx, then task_child_idx, each alone
select task.id
from fan_out
cross join task
where fan_out.task_id = ?1
  and task.fan_out_id = fan_out.id
  and task.fan_out_id is not null
limit ?2
