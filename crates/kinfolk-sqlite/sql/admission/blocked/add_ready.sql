-- add_ready: a task that waits behind a key is to be looked at by the next claim.
-- params: 1 queue_id, 2 command_id, 3 suspect, 4 lane, 5 priority, 6 position, 7 task_id
insert or ignore into ready_waiter (queue_id, command_id, suspect, lane, priority, position, task_id)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
