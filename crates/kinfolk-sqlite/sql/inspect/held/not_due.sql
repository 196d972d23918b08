-- not_due: how many pending tasks of a queue are not due, counted so far.
-- params: 1 queue_id, 2 now, 3 page
-- index:  task_due_idx
select count(*)
from (
    select 1
    from task
    where queue_id = ?1
      and gate = 'time'
      and due > ?2
      and state = 'pending'
    limit ?3
)
