-- past: roots that ended in one state on one queue up to a moment, oldest first.
-- params: 1 queue_id, 2 state, 3 moment, 4 page
-- index:  task_finished_idx, alone
select finished_at,
       id
from task
where queue_id = ?1
  and state = ?2
  and depth = 0
  and finished_at <= ?3
order by finished_at, id
limit ?4
