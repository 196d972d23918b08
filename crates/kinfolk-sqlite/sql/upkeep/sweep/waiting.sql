-- waiting: the next tasks that wait, behind a given one, and whether a suspended one has been sent what it waits for.
-- params: 1 id, 2 page
-- index:  task_bucket_idx; each one by number, and its signals by task and name
with waiting as materialized (
    select id
    from task
    where (bucket = 'waiting' or bucket = 'asleep' or bucket = 'outside')
      and bucket is not null
      and id > ?1
    order by id
    limit ?2
)
select task.id,
       task.outcome is null,
       exists (
           select 1
           from json_each(task.signals) as awaited
           join signal on signal.task_id = task.id and signal.name = awaited.value
       )
from waiting
join task on task.id = waiting.id
order by task.id
