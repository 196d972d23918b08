-- leave_family_slot: a root's family is no longer at work on its queue.
-- params: 1 id
-- index:  by number
update task
set lane   = 'top',
    bucket = iif(bucket = 'root', null, bucket)
where id = ?1
