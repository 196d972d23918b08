-- wait_again: a task whose own work was done, and that ended otherwise with its children, waits for them once more.
-- params: 1 id, 2 bucket
-- index:  by number
update task
set state               = 'waiting',
    outcome             = 'completed',
    failure             = null,
    finished_at         = null,
    cancel_requested_at = null,
    bucket              = ?2
where id = ?1
