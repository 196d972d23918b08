-- kept: the oldest signal of a name that a task has not taken.
-- params: 1 task_id, 2 name
-- index:  signal_task_idx
select arrival,
       value
from signal
where task_id = ?1
  and name = ?2
order by arrival
limit 1
