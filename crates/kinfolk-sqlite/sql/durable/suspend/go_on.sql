-- go_on: the wait of a running task is over before it begins: it is in line again, at its old position and at no cost.
-- params: 1 id, 2 steps, 3 holds_slots, 4 now
-- index:  by number
update task
set state         = 'pending',
    gate          = 'open',
    attempt       = max(attempt - 1, 0),
    suspect       = 0,
    strikes       = 0,
    worker        = null,
    holds_slots   = ?3,
    child_slot    = 0,
    steps         = ?2,
    was_suspended = 1,
    ran_before    = ran_before + max(?4 - started_at, 0),
    bucket        = case when fair is not null then 'turn' when lane <> 'top' then lane end
where id = ?1
