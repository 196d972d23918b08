-- satisfied: forget a family that ended as it should, for all that wait for others too: a follow-up of ten thousand
-- families costs a claim no more than one of two.
-- params: 1 root_id
-- index:  follow_up_root_idx; the others by task and root
delete from follow_up
where root_id = ?1
  and (needs_completed = 0 or ended = 'completed')
  and exists (
      select 1
      from follow_up as other
      where other.task_id = follow_up.task_id
        and other.root_id <> follow_up.root_id
  )
