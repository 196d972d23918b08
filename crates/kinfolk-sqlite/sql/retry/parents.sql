-- parents: the next children of a fan-out that have children of their own and failed or were cancelled, in their order,
-- behind a given one.
-- params: 1 fan_out_id, 2 nth, 3 page
-- index:  task_child_idx; fan-outs by task
select id,
       nth
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth > ?2
  and (state = 'failed' or state = 'cancelled')
  and exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
  )
order by nth
limit ?3
