-- unmark: a family that had to complete is set going again, for all that wait for it. One that had only to settle has done so.
-- params: 1 root_id
-- index:  follow_up_root_idx
update follow_up
set ended = null
where root_id = ?1
  and needs_completed = 1
