-- families: the first families that a follow-up waits for, by the numbers of their roots.
-- params: 1 task_id, 2 page
-- index:  follow_up, by task
select root_id
from follow_up
where task_id = ?1
  and ended is null
order by root_id
limit ?2
