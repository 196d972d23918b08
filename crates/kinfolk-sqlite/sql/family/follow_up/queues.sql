-- queues: the queues of the follow-ups that wait for a family.
-- params: 1 root_id
-- index:  follow_up_root_idx
select distinct queue_id
from follow_up
where root_id = ?1
