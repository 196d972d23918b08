-- open_family: the tasks of a family that waited until it may run are held by time alone.
-- params: 1 root_id, 2 now
-- index:  task_held_idx
update task indexed by task_held_idx
set gate  = iif(due > ?2, 'time', 'open'),
    shelf = iif(due > ?2, iif(runs > 0, 'backoff', null), 'child')
where root_id = ?1
  and shelf = 'limit'
