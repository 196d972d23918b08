-- levels: how many descendants a root has in each generation, and how they have ended.
-- params: 1 root_id
-- index:  fan_out_root_idx
select sum(total),
       sum(completed),
       sum(failed),
       sum(cancelled)
from fan_out
where root_id = ?1
group by depth
order by depth
