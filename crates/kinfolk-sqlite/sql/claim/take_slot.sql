-- take_slot: a child that runs counts for its queue's child_limit.
-- params: 1 id
-- index:  by number
update task
set slot = 1
where id = ?1
