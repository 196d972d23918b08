-- parents: the next children of a fan-out that may have open children of their own, in their order, behind a given one.
-- params: 1 fan_out_id, 2 nth, 3 page
-- index:  task_child_idx
select id,
       nth
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth > ?2
  and (state = 'waiting' or (was_suspended = 1 and (state = 'pending' or state = 'running')))
order by nth
limit ?3
