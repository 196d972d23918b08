-- roots: tasks without a parent that have something only a child has.
-- params: none
-- index:  the whole table
select id,
       'is in lane ' || lane || ', generation ' || depth || ', root ' || coalesce(root_id, 'itself')
from task
where parent_id is null
  and (lane = 'child' or depth <> 0 or root_id is not null or fan_out_id is not null or nth is not null)
