-- leave: a task waits behind no key any more; the caller gives it another gate, or ends it.
-- params: 1 id, 2 holds_slots
-- index:  by number
update task
set holds_slots   = ?2,
    blocked_group = null,
    blocked_key   = null,
    blocked_as    = 0,
    failed_tries  = 0
where id = ?1
