-- pause: take nothing more from a queue; the first pause is kept.
-- params: 1 queue_id, 2 now, 3 the operator, or null
-- index:  by number
update queue
set paused_by = iif(paused_at is null, ?3, paused_by),
    paused_at = coalesce(paused_at, ?2)
where id = ?1
