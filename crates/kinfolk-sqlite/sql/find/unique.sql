-- unique: the tasks that hold or have held a unique key.
-- params: 1 unique_key, 2 page
-- index:  task_key_idx, alone
select id
from task
where unique_key = ?1
  and unique_key is not null
limit ?2
