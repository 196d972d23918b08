-- come_back: a follow-up that was skipped waits again, at its old position. It does not get its unique key back.
-- params: 1 id
-- index:  by number
update task
set state       = 'pending',
    gate        = 'after',
    bucket      = 'after',
    finished_at = null,
    failure     = null,
    fair        = (
                      select coalesce(task.keys ->> ('$."' || queue.fair || '"'), '')
                      from queue
                      where queue.id = task.queue_id
                        and queue.fair is not null
                  )
where id = ?1
