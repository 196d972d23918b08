-- ended: the roots of a queue that ended in one way between two moments, whatever their commands.
-- params: 1 queue_id, 2 state, 3 finished_after, 4 finished_before, 5 page
-- index:  task_finished_idx, alone
select id
from task
where queue_id = ?1
  and state = ?2
  and finished_at >= ?3
  and finished_at < ?4
  and finished_at is not null
  and depth = 0
limit ?5
