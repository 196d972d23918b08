-- wait_again: a task that failed with its children waits for them once more.
-- params: 1 id
-- index:  by number
update task
set state               = 'waiting',
    failure             = null,
    finished_at         = null,
    cancel_requested_at = null
where id = ?1
