-- one: the record under a key.
-- params: 1 task_id, 2 branch, 3 name, 4 occurrence
-- index:  checkpoint_key_idx
select kind,
       digest,
       value
from checkpoint
where task_id = ?1
  and branch = ?2
  and name = ?3
  and occurrence = ?4
