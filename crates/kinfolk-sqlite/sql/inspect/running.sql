-- running: how many tasks run, by queue and command, among so many.
-- params: 1 page
-- index:  task_running_idx
select queue_id,
       command_id,
       'running',
       count(*)
from (
    select queue_id,
           command_id
    from task
    where worker is not null
    limit ?1
)
group by queue_id, command_id
