-- remove_reserved: a group goes; its rows of reserved go first.
-- params: 1 group_id
-- index:  reserved, by group
delete from reserved
where group_id = ?1
