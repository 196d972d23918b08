-- join: a waiting task becomes terminal with its last child. Keys that are not held for a time window are given up. What
-- went wrong with its own work stays; only a task that failed because of its children keeps how its own work ended.
-- params: 1 id, 2 state, 3 now, 4 failure, or null where its own stays
-- index:  by number
update task
set state       = ?2,
    finished_at = ?3,
    holds_slots = 0,
    failure     = coalesce(?4, failure),
    outcome     = iif(?2 = 'failed' and outcome = 'completed', outcome, null),
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until),
    bucket      = iif(lane = 'child', ?2, null)
where id = ?1
