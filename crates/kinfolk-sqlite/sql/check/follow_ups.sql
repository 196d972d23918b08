-- follow_ups: roots behind the gate after that wait for no family, and families waited for by others.
-- params: none
-- index:  the whole table; entries by task
select task.id,
       'waits for no family'
from task
where task.gate = 'after'
  and task.depth = 0
  and not exists (
      select 1
      from follow_up
      where follow_up.task_id = task.id
  )
union all
select follow_up.task_id,
       'is ' || coalesce(task.state, 'gone') || ' and waits for the family of ' || follow_up.root_id
from follow_up
left join task on task.id = follow_up.task_id
where task.gate is not 'after'
