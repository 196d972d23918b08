-- before: the open child of a fan-out that is nearest before a given one.
-- params: 1 fan_out_id, 2 nth
-- index:  task_child_idx, downwards
select id
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth < ?2
  and finished_at is null
order by nth desc
limit 1
