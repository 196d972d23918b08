-- note_minutes: take down the number of a worker's note, unless it was taken already.
-- params: 1 worker, 2 number
-- index:  by id
update worker
set noted = ?2
where id = ?1
  and noted < ?2
