-- enter: a root's family is among those at work on its queue from now on.
-- params: 1 id
-- index:  by number
update task
set lane = 'root'
where id = ?1
