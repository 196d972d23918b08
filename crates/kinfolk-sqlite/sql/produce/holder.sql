-- holder: the task that holds a unique key of a command now; the oldest, should there be several.
-- params: 1 unique_key, 2 command_id, 3 now
-- index:  task_key_idx
select id,
       state,
       runs,
       payload
from task_shown
where unique_key = ?1
  and command_id = ?2
  and key_until > ?3
order by id
limit 1
