-- count: a running task holds slots from now on.
-- params: 1 task_id
-- index:  by number
update task
set keyed = 1
where id = ?1
  and keyed = 0
