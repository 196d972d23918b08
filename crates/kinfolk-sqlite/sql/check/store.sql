-- store: tasks that the store's row does not know of.
-- params: none
-- index:  the whole table
select task.id,
       'number or time is beyond the last task ' || store.last_task || ' and the clock ' || store.clock
from task
cross join store
where task.id > store.last_task
   or max(task.created_at, coalesce(task.started_at, 0), coalesce(task.finished_at, 0)) > store.clock
