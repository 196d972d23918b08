-- find: the group of this name that belongs to a command, or is shared, and what it is declared as.
-- params: 1 command_id or null, 2 name
-- index:  the whole table, which is small
select id,
       slots,
       rate_count,
       rate_per,
       rate_burst,
       hold
from slot_group
where command_id is ?1
  and name = ?2
