-- setting: the setting of one key of a group.
-- params: 1 group_id, 2 key
-- index:  slot_setting, by group and key
select slots,
       rate_count,
       rate_per,
       rate_burst
from slot_setting
where group_id = ?1
  and key = ?2
