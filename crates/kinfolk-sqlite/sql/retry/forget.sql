-- forget: remove the records of a task from a step on, except the signals it has taken: their senders do not send them again.
-- params: 1 task_id, 2 seq
-- index:  checkpoint_key_idx
delete from checkpoint
where task_id = ?1
  and seq >= ?2
  and kind <> 'signal'
