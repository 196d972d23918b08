-- shelf: how many tasks of a queue stand on a shelf, counted so far.
-- params: 1 queue_id, 2 shelf, 3 page
-- index:  task_shelf_idx, alone
select count(*)
from (
    select 1
    from task
    where shelf = ?2
      and shelf is not null
      and queue_id = ?1
    limit ?3
)
