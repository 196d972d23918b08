-- candidate: the facts about a task that admission needs before it may take slots.
-- params: 1 id
-- index:  by number
select keys,
       holds_slots,
       parent_id,
       blocked_group,
       blocked_key,
       blocked_as,
       failed_tries
from task
where id = ?1
