-- due: how many pending tasks of a command on a queue have become due and were not opened yet, among so many of them.
-- params: 1 queue_id, 2 command_id, 3 now, 4 page
-- index:  task_due_idx
select count(*)
from (
    select command_id,
           state
    from task
    where queue_id = ?1
      and gate = 'time'
      and due <= ?3
    limit ?4
)
where command_id = ?2
  and state = 'pending'
