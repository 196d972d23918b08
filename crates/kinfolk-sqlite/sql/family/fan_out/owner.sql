-- owner: the facts about the owner of a fan-out that a verdict needs.
-- params: 1 id
-- index:  by number
select steps,
       queue_id,
       root_id
from task
where id = ?1
