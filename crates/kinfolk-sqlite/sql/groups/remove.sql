-- remove: a group goes.
-- params: 1 id
-- index:  by number
delete from slot_group
where id = ?1
