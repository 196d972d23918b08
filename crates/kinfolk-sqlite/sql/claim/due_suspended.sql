-- due_suspended: the suspended tasks in the next page of due tasks on a queue.
-- params: 1 queue_id, 2 now, 3 page
-- index:  task_due_idx
select id
from task
where state = 'waiting'
  and id in (
      select id
      from task
      where queue_id = ?1
        and gate = 'time'
        and due <= ?2
      order by due, id
      limit ?3
  )
order by id
