-- ahead: how many open tasks of one command on a queue are before a given one; counted so far at most.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 position, 5 id, 6 at most
-- index:  task_ready_idx, task_bucket_idx and task_suspect_idx, alone
select count(*)
from (
    select distinct id
    from open_task
    where queue_id = ?1
      and command_id = ?2
      and (priority, position, id) < (?3, ?4, ?5)
    limit ?6
)
