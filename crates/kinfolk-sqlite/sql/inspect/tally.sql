-- tally: how many children a task has, and how they have ended.
-- params: 1 task_id
-- index:  fan_out_task_idx
select coalesce(sum(total), 0),
       coalesce(sum(completed), 0),
       coalesce(sum(failed), 0),
       coalesce(sum(cancelled), 0)
from fan_out
where task_id = ?1
