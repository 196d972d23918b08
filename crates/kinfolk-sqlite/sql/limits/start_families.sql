-- start_families: on a queue that now limits families, the families that have begun are at work.
-- params: 1 queue_id
-- index:  the whole table; an operator does this once
update task
set lane   = 'root',
    bucket = iif(gate = 'open' and suspect = 0 and fair is null, 'root', bucket)
where queue_id = ?1
  and depth = 0
  and finished_at is null
  and (runs > 0 or state = 'waiting')
