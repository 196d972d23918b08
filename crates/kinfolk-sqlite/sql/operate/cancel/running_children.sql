-- running_children: ask for the end of all running children of a fan-out; the first asking is kept.
-- params: 1 fan_out_id, 2 now
-- index:  task_child_idx
update task
set cancel_requested_at = ?2
where fan_out_id = ?1
  and fan_out_id is not null
  and state = 'running'
  and cancel_requested_at is null
