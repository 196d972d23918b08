-- behind_keys: tasks that wait behind a key though they are not pending, or though their command has no such group; and
-- tasks in the bucket key that wait behind none.
-- params: none
-- index:  the whole table; declared groups by command
select task.id,
       'is ' || task.state || ', gate ' || coalesce(task.gate, 'none') || ', behind group '
       || coalesce(task.blocked_group, 'none') || ', key ' || coalesce(task.blocked_key, 'none')
from task
where (task.blocked_group is null) <> (task.blocked_key is null)
   or (task.blocked_group is null) <> (task.bucket is not 'key')
   or (task.blocked_group is not null and task.gate is not 'limit')
   or (
       task.blocked_group is not null
       and not exists (
           select 1
           from command_group
           where command_group.command_id = task.command_id
             and command_group.group_id = task.blocked_group
       )
   )
