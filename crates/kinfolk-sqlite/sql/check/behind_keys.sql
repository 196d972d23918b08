-- behind_keys: tasks that wait behind a key though they are not pending, or though their command has no such group; and
-- those that are on the shelf key though they wait behind none.
-- params: none
-- index:  the whole table; declared groups by command
select task.id,
       'is ' || task.state || ', gate ' || coalesce(task.gate, 'none') || ', behind group '
       || coalesce(task.parked_group, 'none') || ', key ' || coalesce(task.parked_key, 'none')
from task
where (task.parked_group is null) <> (task.parked_key is null)
   or (task.parked_group is null) <> (task.shelf is not 'key')
   or (task.parked_group is not null and task.gate is not 'limit')
   or (
       task.parked_group is not null
       and not exists (
           select 1
           from command_group
           where command_group.command_id = task.command_id
             and command_group.group_id = task.parked_group
       )
   )
