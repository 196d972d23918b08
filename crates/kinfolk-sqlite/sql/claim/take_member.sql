-- take_member: start one attempt of a child, of a root on a queue that limits families, of a task that has its turn, or of one that waited
-- behind a key. A unique key held while pending is given up for good. `take` does the same for flat tasks, which never write the columns from
-- `lane` on: SQLite would look at the indexes on them.
-- params: 1 id, 2 now, 3 worker, 4 token, 5 holds_slots, 6 lane from now on, 7 child_slot
-- index:  by number
update task
set state         = 'running',
    gate          = null,
    attempt       = attempt + 1,
    runs          = runs + 1,
    started_at    = ?2,
    worker        = ?3,
    token         = ?4,
    ran_by        = ?3,
    key_until     = iif(unique_scope = 'pending', 0, key_until),
    holds_slots   = ?5,
    lane          = ?6,
    child_slot    = ?7,
    bucket        = null,
    blocked_group = null,
    blocked_key   = null,
    blocked_as    = 0,
    failed_tries  = 0
where id = ?1
