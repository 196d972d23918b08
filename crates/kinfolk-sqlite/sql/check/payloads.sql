-- payloads: tasks whose payload is missing or there twice.
-- params: none
-- index:  the whole table; large payloads by number
select task.id,
       iif(task.payload is null, 'has none', 'has two')
from task
left join large_payload on large_payload.task_id = task.id
where (task.payload is null) = (large_payload.payload is null)
