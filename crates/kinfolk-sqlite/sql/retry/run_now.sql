-- run_now: a pending task that is not due becomes due; the next claim opens it.
-- params: 1 id, 2 now
-- index:  by number
update task
set due      = ?2,
    position = min(position, ?2)
where id = ?1
  and state = 'pending'
  and gate = 'time'
  and due > ?2
