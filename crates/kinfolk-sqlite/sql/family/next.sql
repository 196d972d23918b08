-- next: the first of the children that wait for an earlier one.
-- params: 1 root_id, 2 fan_out_id
-- index:  task_held_idx, its first entries
select id,
       due,
       queue_id
from task indexed by task_held_idx
where root_id = ?1
  and fan_out_id = ?2
  and bucket = 'after'
order by nth
limit 1
