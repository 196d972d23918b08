-- attempts: the ended attempts of a task, oldest first.
-- params: 1 task_id
-- index:  by task and run
select run,
       attempt,
       started_at,
       ended_at,
       worker,
       ending,
       failure
from attempt
where task_id = ?1
  and ending <> 'suspended'
order by run
