-- skipped: follow-ups that families spoiled and that were not skipped, or whose families go on or have completed.
-- params: none
-- index:  the whole table; tasks by number
select spoiled.task_id,
       'is ' || coalesce(task.state, 'gone') || ' and was spoiled by ' || spoiled.root_id || ', which is '
       || coalesce(root.state, 'gone')
from skipped_follow_up as spoiled
left join task on task.id = spoiled.task_id
left join task as root on root.id = spoiled.root_id
where task.state is not 'cancelled'
   or task.failure ->> 'kind' is not 'skipped'
   or (root.id is not null and root.state <> 'failed' and root.state <> 'cancelled')
