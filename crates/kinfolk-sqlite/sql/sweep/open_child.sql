-- open_child: a child of a task that has not ended, looked for from the last one down, where it is likely to be.
-- params: 1 task_id
-- index:  fan_out_task_idx, task_child_idx
select task.id
from fan_out
join task on task.fan_out_id = fan_out.id
where fan_out.task_id = ?1
  and task.fan_out_id is not null
  and task.finished_at is null
order by fan_out.id, task.nth desc
limit 1
