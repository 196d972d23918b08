-- holder: the task that holds a unique key of a command now; the oldest, should there be several.
-- params: 1 unique_key, 2 command_id, 3 now
-- index:  task_key_idx
select id,
       state,
       runs,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where task_id = task.id
           )
       ) as payload
from task
where unique_key = ?1
  and command_id = ?2
  and key_until > ?3
order by id
limit 1
