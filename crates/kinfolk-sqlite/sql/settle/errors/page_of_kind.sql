-- errors: a page of the entries of one command on one queue, newest first.
-- params: 1 only entries with a smaller number, 2 page, 3 command, 4 queue
-- index:  error_kind_idx, backwards: numbers follow queue and command in it
select *
from error_shown
where queue_id = ?4
  and command_id = ?3
  and id < ?1
order by id desc
limit ?2
