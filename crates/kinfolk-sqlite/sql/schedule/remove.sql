-- remove: a schedule goes; its tasks stay.
-- params: 1 name
-- index:  by name
delete from schedule
where name = ?1
