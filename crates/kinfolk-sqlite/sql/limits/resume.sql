-- resume: take from a queue again.
-- params: 1 queue_id
-- index:  by number
update queue
set paused_at = null,
    paused_by = null
where id = ?1
