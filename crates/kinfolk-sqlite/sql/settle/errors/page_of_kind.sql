-- errors: a page of those of one command on one queue, newest first.
-- params: 1 only entries with a smaller number, 2 page, 3 command, 4 queue
-- index:  error_kind_idx, backwards: numbers follow queue and command in it
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
where e.queue_id = ?4
    and e.command_id = ?3
    and e.id < ?1
order by e.id desc
limit ?2
