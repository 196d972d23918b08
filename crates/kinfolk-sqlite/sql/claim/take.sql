-- take: start one attempt. A key held while pending is given up for good. (No returning: it costs a scratch table a row.)
-- params: 1 id, 2 now, 3 worker, 4 token, 5 holds_slots
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
    holds_slots = ?5
where id = ?1
