-- errors: a page of those of one task, newest first.
-- params: 1 only entries with a smaller number, 2 page, 3 task, 4 command or null, 5 queue or null
-- index:  error_task_idx, backwards: numbers follow the task in it
select e.id,
       e.at,
       e.task_id,
       c.name,
       q.name,
       e.attempt,
       e.failure
from error e
join command c on c.id = e.command_id
join queue q on q.id = e.queue_id
where e.task_id = ?3
    and e.id < ?1
    and (?4 is null or c.name = ?4)
    and (?5 is null or q.name = ?5)
order by e.id desc
limit ?2
