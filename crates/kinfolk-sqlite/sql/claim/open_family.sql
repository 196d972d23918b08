-- open_family: the tasks of a family that waited until it may run are held by time alone.
-- params: 1 root_id, 2 now
-- index:  task_limit_idx
update task
set gate = iif(due > ?2, 'time', 'open')
where root_id = ?1
  and gate = 'limit'
