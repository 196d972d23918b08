-- candidate: what is to be known of a task before it may take slots.
-- params: 1 id
-- index:  by number
select keys,
       keyed,
       parent_id,
       parked_group,
       parked_key,
       parked_as,
       bounces
from task
where id = ?1
