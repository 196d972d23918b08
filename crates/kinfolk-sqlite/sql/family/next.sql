-- next: the first of the children that wait for an earlier one.
-- params: 1 fan_out_id
-- index:  task_after_idx, its first entry
select id,
       due,
       queue_id
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and gate = 'after'
order by nth
limit 1
