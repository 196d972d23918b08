-- start_children: on a queue that now limits children, the running ones count.
-- params: 1 queue_id
-- index:  task_running_idx
update task
set child_slot = 1
where worker is not null
  and queue_id = ?1
  and lane = 'child'
