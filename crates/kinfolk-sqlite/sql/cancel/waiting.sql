-- waiting: a waiting task has nothing more to say, and ends as cancelled with its last child; the first asking is kept.
-- params: 1 id, 2 now
-- index:  by number
update task
set outcome             = 'cancelled',
    result              = null,
    cancel_requested_at = coalesce(cancel_requested_at, ?2)
where id = ?1
