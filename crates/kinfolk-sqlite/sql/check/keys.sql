-- keys: unique keys held by more than one task at once. A follow-up looks for its key among roots only.
-- params: 1 now
-- index:  task_key_idx
select min(id),
       'key ' || unique_key || ' is held by ' || count(*) || ' tasks'
from task
where unique_key is not null
  and key_until > ?1
group by unique_key, command_id, parent_id is null
having count(*) > 1
