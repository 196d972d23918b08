-- admit_family: a root that waits outside, and its family, are among those at work on its queue from now on.
-- params: 1 id, 2 lane
-- index:  by number
update task
set lane   = ?2,
    bucket = 'waiting'
where id = ?1
