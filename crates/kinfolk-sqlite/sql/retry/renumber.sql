-- renumber: a checkpoint takes another place in the history of its task.
-- params: 1 id, 2 seq
-- index:  by number
update checkpoint
set seq = ?2
where id = ?1
  and seq <> ?2
