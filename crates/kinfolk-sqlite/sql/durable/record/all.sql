-- all: the records of a task, in the order of writing.
-- params: 1 task_id
-- index:  checkpoint_key_idx
select branch,
       name,
       occurrence,
       kind,
       digest,
       value,
       recorded_at
from checkpoint
where task_id = ?1
order by id
