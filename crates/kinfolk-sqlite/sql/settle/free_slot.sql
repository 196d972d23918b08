-- free_slot: a child that runs no longer counts for its queue's child_limit.
-- params: 1 id
-- index:  by number
update task
set slot = 0
where id = ?1
