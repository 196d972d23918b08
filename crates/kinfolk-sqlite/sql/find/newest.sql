-- newest: tasks between two numbers, the highest first.
-- params: 1 after, 2 before, 3 page
-- index:  by number, downwards
select id
from task
where id > ?1
  and id < ?2
order by id desc
limit ?3
