-- wake: tell other processes that a queue may have something to claim.
-- params: 1 queue_id, 2 waker
-- index:  by number
update queue
set wakes = wakes + 1,
    waker = ?2
where id = ?1
