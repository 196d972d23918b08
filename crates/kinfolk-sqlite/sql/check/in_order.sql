-- in_order: fan-outs whose children all wait for an earlier one, though none is open.
-- params: none
-- index:  the whole table
select task_id,
       held || ' children are held, and none is open'
from fan_out
where held > 0
  and held >= total - completed - failed - cancelled
