-- end: nothing is kept for a task any more.
-- params: 1 task_id
-- index:  the whole table: a row for each group at most
delete from reserved
where task_id = ?1
