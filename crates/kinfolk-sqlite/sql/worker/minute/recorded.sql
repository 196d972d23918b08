-- record_minutes: take down the number of a worker's record, unless it was taken already.
-- params: 1 worker, 2 number
-- index:  by id
update worker
set minutes_recorded = ?2
where id = ?1
  and minutes_recorded < ?2
