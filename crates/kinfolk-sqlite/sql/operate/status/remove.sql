-- remove: a status goes.
-- params: 1 name
-- index:  by name
delete from status
where name = ?1
