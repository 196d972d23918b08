-- take_member: start one attempt of a child, or of a root on a queue that limits families. A key held while pending is
-- given up for good.
-- params: 1 id, 2 now, 3 worker, 4 token, 5 lane from now on, 6 child_slot, 7 holds_slots
-- index:  by number
update task
set state       = 'running',
    gate        = null,
    attempt     = attempt + 1,
    runs        = runs + 1,
    started_at  = ?2,
    worker      = ?3,
    token       = ?4,
    ran_by      = ?3,
    key_until   = iif(unique_scope = 'pending', 0, key_until),
    lane        = ?5,
    child_slot  = ?6,
    bucket      = null,
    holds_slots = ?7
where id = ?1
