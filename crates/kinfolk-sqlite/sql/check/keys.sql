-- keys: unique keys held by more than one task at once.
-- params: 1 now
-- index:  task_key_idx
select min(id),
       'key ' || unique_key || ' is held by ' || count(*) || ' tasks'
from task
where unique_key is not null
  and key_until > ?1
group by unique_key, command_id
having count(*) > 1
