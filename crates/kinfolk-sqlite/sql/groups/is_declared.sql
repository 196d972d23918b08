-- is_declared: whether any command declares a group.
-- params: 1 group_id
-- index:  command_group_group_idx
select 1
from command_group
where group_id = ?1
