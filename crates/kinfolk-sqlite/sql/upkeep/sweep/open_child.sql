-- open_child: a child of a fan-out that has not ended, looked for from the last one down, where it is likely to be.
-- params: 1 fan_out_id
-- index:  task_child_idx
select id
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and finished_at is null
order by nth desc
limit 1
