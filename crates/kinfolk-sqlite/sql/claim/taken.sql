-- taken: a task as its worker sees it, after it was taken.
-- params: 1 id
-- index:  by number
select id,
       command_id,
       attempt,
       max_attempts,
       timeout,
       trace,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where task_id = task.id
           )
       ) as payload
from task
where id = ?1
