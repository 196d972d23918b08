-- suspend: a running task waits without a worker, at no cost; its worker lived, so it is no suspect.
-- params: 1 id, 2 steps, 3 timer or null, 4 signals or null, 5 holds_slots, 6 now
-- index:  by number
update task
set state         = 'waiting',
    gate          = iif(?3 is null, null, 'time'),
    due           = coalesce(?3, due),
    attempt       = max(attempt - 1, 0),
    suspect       = 0,
    strikes       = 0,
    worker        = null,
    holds_slots   = ?5,
    child_slot    = 0,
    steps         = ?2,
    was_suspended = 1,
    ran_before    = ran_before + max(?6 - started_at, 0),
    signals       = ?4,
    bucket        = iif(?3 is null, 'waiting', 'asleep')
where id = ?1
