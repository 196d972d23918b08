-- last_page: the last stretch of the order in which the children of a fan-out have ended.
-- params: 1 fan_out_id
-- index:  by fan-out and ordinal, its last entry
select first,
       nths
from ended_page
where fan_out_id = ?1
order by first desc
limit 1
