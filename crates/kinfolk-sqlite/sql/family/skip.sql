-- skip: cancel the children that wait for an earlier one. Keys that are not held for a time window are given up.
-- params: 1 root_id, 2 fan_out_id, 3 now, 4 failure
-- index:  task_held_idx
update task indexed by task_held_idx
set state       = 'cancelled',
    gate        = null,
    finished_at = ?3,
    failure     = ?4,
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until),
    bucket      = 'cancelled'
where root_id = ?1
  and fan_out_id = ?2
  and bucket = 'after'
