-- skip: cancel the children that wait for an earlier one. Keys that are not held for a time window are given up.
-- params: 1 fan_out_id, 2 now, 3 failure
-- index:  task_after_idx
update task
set state       = 'cancelled',
    gate        = null,
    finished_at = ?2,
    failure     = ?3,
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until)
where fan_out_id = ?1
  and fan_out_id is not null
  and gate = 'after'
