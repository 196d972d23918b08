-- failed: the tasks that failed since a moment, the latest first.
-- params: 1 since, 2 page
-- index:  task_not_completed_idx
select id,
       command_id,
       finished_at,
       failure
from task
where state = 'failed'
  and finished_at >= ?1
order by finished_at desc, id desc
limit ?2
