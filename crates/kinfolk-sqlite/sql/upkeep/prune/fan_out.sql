-- fan_out: remove a fan-out that has no children any more.
-- params: 1 id
-- index:  by number
delete from fan_out
where id = ?1
