-- unmark_queue: no task of a queue is to be looked at on account of a mark.
-- params: 1 queue_id
-- index:  ready_mark, by queue
delete from ready_mark
where queue_id = ?1
