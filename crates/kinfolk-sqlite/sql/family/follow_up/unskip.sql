-- unskip: a follow-up was not skipped, or is gone.
-- params: 1 task_id
-- index:  by task and root
delete from skipped_follow_up
where task_id = ?1
