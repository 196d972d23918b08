-- settle: one more attempt has failed.
-- params: 1 now, 2 task, 3 command, 4 queue, 5 attempt, 6 failure
insert into error (at, task_id, command_id, queue_id, attempt, failure)
values (?1, ?2, ?3, ?4, ?5, ?6)
