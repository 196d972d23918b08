-- maker: the columns of a task that it hands down to the tasks it makes.
-- params: 1 id
-- index:  by number
select parent_id,
       coalesce(root_id, id),
       depth,
       priority,
       position,
       keys
from task
where id = ?1
