-- wait: a running task has done its own work and waits for its children.
-- params: 1 id, 2 result, 3 attempt, 4 suspect, 5 strikes
-- index:  by number
update task
set state   = 'waiting',
    outcome = 'completed',
    result  = ?2,
    failure = null,
    attempt = ?3,
    suspect = ?4,
    strikes = ?5,
    worker  = null,
    slot    = 0,
    shelf   = 'waiting'
where id = ?1
