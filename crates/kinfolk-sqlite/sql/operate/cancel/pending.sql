-- pending: a pending task is cancelled at once. Keys that are not held for a time window are given up.
-- params: 1 id, 2 now, 3 failure
-- index:  by number
update task
set state       = 'cancelled',
    gate        = null,
    finished_at = ?2,
    failure     = ?3,
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until),
    bucket      = iif(lane = 'child', 'cancelled', null)
where id = ?1
