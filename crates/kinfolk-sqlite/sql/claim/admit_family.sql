-- admit_family: a root that waits outside gets a family slot, and its family is at work on its queue from now on.
-- params: 1 id, 2 lane
-- index:  by number
update task
set lane   = ?2,
    bucket = 'waiting'
where id = ?1
