-- not_completed: what failed or was cancelled between two moments.
-- params: 1 state, 2 finished_after, 3 finished_before, 4 page
-- index:  task_not_completed_idx, alone
select id
from task
where state = ?1
  and (state = 'failed' or state = 'cancelled')
  and finished_at >= ?2
  and finished_at < ?3
limit ?4
