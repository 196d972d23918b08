-- settings: the settings of single keys of a group, by key.
-- params: 1 group_id
-- index:  slot_setting, by group
select key,
       slots,
       rate_count,
       rate_per,
       rate_burst
from slot_setting
where group_id = ?1
order by key
