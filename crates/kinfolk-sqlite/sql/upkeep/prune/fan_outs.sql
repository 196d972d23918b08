-- fan_outs: the fan-outs of a family, deepest and youngest first, and how many children each has.
-- params: 1 root_id
-- index:  fan_out_root_idx
select id,
       total
from fan_out
where root_id = ?1
order by depth desc, id desc
