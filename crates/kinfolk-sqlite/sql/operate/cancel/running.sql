-- running: ask for the end of a running task; the first asking is kept.
-- params: 1 id, 2 now
-- index:  by number
update task
set cancel_requested_at = ?2
where id = ?1
  and cancel_requested_at is null
