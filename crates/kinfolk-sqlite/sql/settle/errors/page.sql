-- errors: a page, newest first.
-- params: 1 only entries with a smaller number, 2 page
-- index:  the primary key, backwards
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
where e.id < ?1
order by e.id desc
limit ?2
