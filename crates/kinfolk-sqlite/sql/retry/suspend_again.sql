-- suspend_again: a task whose own work failed gets fresh attempts, and is suspended once more, with fewer checkpoints.
-- params: 1 id, 2 now, 3 steps, 4 bucket
-- index:  by number
update task
set state               = 'waiting',
    due                 = ?2,
    attempt             = 0,
    suspect             = 0,
    strikes             = 0,
    failure             = null,
    result              = null,
    started_at          = null,
    ran_before          = 0,
    finished_at         = null,
    cancel_requested_at = null,
    token               = null,
    steps               = ?3,
    bucket              = ?4
where id = ?1
