-- left: the records of a task, in the order of writing.
-- params: 1 task_id
-- index:  checkpoint_key_idx
select id
from checkpoint
where task_id = ?1
order by seq
