-- waiting: a task that waits, or is in line and has open children, has nothing more to say, and ends as cancelled with
-- its last child; the first asking is kept.
-- params: 1 id, 2 now
-- index:  by number
update task
set state               = 'waiting',
    gate                = null,
    outcome             = 'cancelled',
    result              = null,
    failure             = null,
    signals             = null,
    cancel_requested_at = coalesce(cancel_requested_at, ?2),
    bucket              = iif(bucket = 'outside', bucket, 'waiting')
where id = ?1
