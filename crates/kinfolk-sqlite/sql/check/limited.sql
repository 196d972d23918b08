-- limited: tasks that wait until their family is let in, though its root does not wait.
-- params: none
-- index:  task_held_idx; roots by number
select task.id,
       'the root ' || coalesce(task.root_id, 'itself') || ' is ' || coalesce(root.state, 'gone')
       || ' in lane ' || coalesce(root.lane, 'none')
from task
left join task as root on root.id = task.root_id
where task.gate = 'limit'
  and (root.state is not 'waiting' or root.lane <> 'top')
