-- errors: a page of the entries of one task, newest first.
-- params: 1 only entries with a smaller number, 2 page, 3 task, 4 command or null, 5 queue or null
-- index:  error_task_idx, backwards: numbers follow the task in it
select *
from error_shown
where task_id = ?3
  and id < ?1
  and (?4 is null or command = ?4)
  and (?5 is null or queue = ?5)
order by id desc
limit ?2
