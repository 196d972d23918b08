-- running: the commands of which a task runs.
-- params: none
-- index:  task_running_idx
select distinct command_id
from task
where worker is not null
