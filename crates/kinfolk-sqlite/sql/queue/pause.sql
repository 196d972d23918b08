-- pause: take nothing more from a queue; the first pause is kept.
-- params: 1 queue_id, 2 now
-- index:  by number
update queue
set paused_at = coalesce(paused_at, ?2)
where id = ?1
