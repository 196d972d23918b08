-- remove: a worker is no more.
-- params: 1 worker
-- index:  by id
delete from worker
where id = ?1
