-- of_task: the reservations of a task.
-- params: 1 task_id
-- index:  the whole table: a row for each group at most
select group_id,
       key
from reserved
where task_id = ?1
