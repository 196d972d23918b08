-- wait: a running task has done its own work and waits for its children.
-- params: 1 id, 2 outcome, 3 result, 4 failure, 5 attempt, 6 suspect, 7 strikes, 8 token, 9 holds_slots
-- index:  by number
update task
set state       = 'waiting',
    outcome     = ?2,
    result      = ?3,
    failure     = ?4,
    attempt     = ?5,
    suspect     = ?6,
    strikes     = ?7,
    token       = ?8,
    worker      = null,
    holds_slots = ?9,
    child_slot  = 0,
    bucket      = 'waiting'
where id = ?1
