-- spoiled_by: the follow-ups that were skipped because of a family.
-- params: 1 root_id
-- index:  skipped_follow_up_root_idx
select task_id
from skipped_follow_up
where root_id = ?1
