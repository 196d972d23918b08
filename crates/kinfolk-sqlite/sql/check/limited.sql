-- limited: tasks that wait until their family is let in, though its root is neither waiting nor in line outside.
-- params: none
-- index:  task_held_idx; roots by number
select task.id,
       'the root ' || coalesce(task.root_id, 'itself') || ' is ' || coalesce(root.state, 'gone')
       || ' in lane ' || coalesce(root.lane, 'none')
from task
left join task as root on root.id = task.root_id
where task.gate = 'limit'
  and task.blocked_group is null
  and not (root.lane is 'top' and (root.state = 'waiting' or (root.state = 'pending' and root.was_suspended = 1)))
