-- follows: the follow-ups that a family has made.
-- params: 1 root, 2 limit
-- index:  task_follows_idx
select id
from task
where follows = ?1
limit ?2
