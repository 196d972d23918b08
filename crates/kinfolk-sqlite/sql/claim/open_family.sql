-- open_family: the tasks of a family that waited until it may run are held by time alone.
-- params: 1 root_id, 2 now
-- index:  task_held_idx
update task indexed by task_held_idx
set gate   = iif(due > ?2, 'time', 'open'),
    bucket = case
                when due <= ?2 then iif(fair is null, 'child', 'turn')
                when runs > 0 then 'backoff'
            end
where root_id = ?1
  and bucket = 'limit'
