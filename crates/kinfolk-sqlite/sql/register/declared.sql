-- declared: which groups each command declares, in the order of their numbers.
-- params: none
-- index:  the whole table, which is small
select command_id,
       name,
       group_id
from command_group
order by command_id, group_id
