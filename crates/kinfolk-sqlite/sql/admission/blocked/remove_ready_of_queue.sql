-- remove_ready_of_queue: no task of a queue is to be looked at as a ready waiter.
-- params: 1 queue_id
-- index:  ready_waiter, by queue
delete from ready_waiter
where queue_id = ?1
