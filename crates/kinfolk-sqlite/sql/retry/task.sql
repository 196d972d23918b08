-- task: a failed or cancelled task gets fresh attempts, at its old place. It does not get its unique key back.
-- params: 1 id, 2 now, 3 gate
-- index:  by number
update task
set state               = 'pending',
    gate                = ?3,
    due                 = ?2,
    attempt             = 0,
    suspect             = 0,
    strikes             = 0,
    failure             = null,
    result              = null,
    started_at          = null,
    finished_at         = null,
    cancel_requested_at = null,
    token               = null,
    shelf               = iif(?3 = 'open', iif(lane = 'top', null, lane), ?3)
where id = ?1
