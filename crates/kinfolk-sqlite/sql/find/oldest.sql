-- oldest: tasks between two numbers, the lowest first.
-- params: 1 after, 2 before, 3 page
-- index:  by number
select id
from task
where id > ?1
  and id < ?2
order by id
limit ?3
