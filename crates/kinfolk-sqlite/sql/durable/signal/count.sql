-- count: how many signals a task has not taken.
-- params: 1 task_id
-- index:  signal_task_idx, alone
select count(*)
from signal
where task_id = ?1
