-- list: a page of tasks, newest first.
-- params: 1 before (a number), 2 states (JSON array, or null for any), 3 command_id or null, 4 queue_id or null, 5 page
-- index:  by number, downwards
select *
from task_shown
where id < ?1
  and (?2 is null or state in (select value from json_each(?2)))
  and (?3 is null or command_id = ?3)
  and (?4 is null or queue_id = ?4)
order by id desc
limit ?5
