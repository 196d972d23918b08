-- return: a running task becomes pending again, at its old position.
-- params: 1 id, 2 gate, 3 due, 4 failure, 5 attempt, 6 suspect, 7 strikes, 8 token, 9 holds_slots
-- index:  by number
update task
set state       = 'pending',
    gate        = ?2,
    due         = ?3,
    failure     = ?4,
    attempt     = ?5,
    suspect     = ?6,
    strikes     = ?7,
    token       = ?8,
    worker      = null,
    holds_slots = ?9,
    child_slot  = 0,
    bucket      = case
                  when ?2 = 'time' then 'backoff'
                  when fair is not null then 'turn'
                  when lane <> 'top' and not ?6 then lane
              end
where id = ?1
