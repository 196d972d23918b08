-- finish_child: a running task that has a parent becomes terminal. Keys that are not held for a time window are given up. `finish`
-- does the same for roots, which never write the columns from `child_slot` on: SQLite would look at the indexes on them.
-- params: 1 id, 2 state, 3 now, 4 result, 5 failure, 6 attempt, 7 suspect, 8 strikes, 9 token
-- index:  by number
update task
set state       = ?2,
    finished_at = ?3,
    result      = ?4,
    failure     = ?5,
    attempt     = ?6,
    suspect     = ?7,
    strikes     = ?8,
    token       = ?9,
    worker      = null,
    holds_slots = 0,
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until),
    child_slot  = 0,
    bucket      = ?2
where id = ?1
