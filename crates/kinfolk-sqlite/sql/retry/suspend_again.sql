-- suspend_again: a task that got fresh attempts is suspended once more, with fewer checkpoints.
-- params: 1 id, 2 steps, 3 bucket
-- index:  by number
update task
set state  = 'waiting',
    gate   = null,
    steps  = ?2,
    bucket = ?3
where id = ?1
