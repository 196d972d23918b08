-- steps: tasks that have other checkpoints than they say.
-- params: none
-- index:  the whole table; checkpoints by task
select task.id,
       'has ' || task.steps || ' steps counted; there are ' || count(checkpoint.id)
from task
left join checkpoint on checkpoint.task_id = task.id
group by task.id
having task.steps <> count(checkpoint.id)
    or count(distinct checkpoint.seq) <> count(checkpoint.id)
    or max(checkpoint.seq) >= task.steps
