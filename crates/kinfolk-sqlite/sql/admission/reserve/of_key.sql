-- of_key: the task that room of a key is kept for.
-- params: 1 group_id, 2 key
-- index:  reserved, by group
select task_id
from reserved
where group_id = ?1
  and key = ?2
