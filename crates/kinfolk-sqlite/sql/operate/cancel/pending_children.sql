-- pending_children: all pending children of a fan-out that have none of their own are cancelled at once, the one in line
-- and those behind it. Keys that are not held for a time window are given up.
-- params: 1 fan_out_id, 2 now, 3 failure
-- index:  task_child_idx
update task
set state       = 'cancelled',
    gate        = null,
    finished_at = ?2,
    failure     = ?3,
    key_until   = iif(unique_scope = 'pending' or unique_scope = 'active', 0, key_until),
    bucket      = 'cancelled'
where fan_out_id = ?1
  and fan_out_id is not null
  and state = 'pending'
  and was_suspended = 0
