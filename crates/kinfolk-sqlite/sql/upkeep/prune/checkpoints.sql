-- checkpoints: remove what a task has recorded.
-- params: 1 task_id
-- index:  checkpoint_key_idx
delete from checkpoint
where task_id = ?1
