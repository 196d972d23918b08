-- remove_spent: a group goes; its rows of spent go first.
-- params: 1 group_id
-- index:  spent, by group
delete from spent
where group_id = ?1
