-- count: a running task holds slots from now on.
-- params: 1 task_id
-- index:  by number
update task
set holds_slots = 1
where id = ?1
  and holds_slots = 0
