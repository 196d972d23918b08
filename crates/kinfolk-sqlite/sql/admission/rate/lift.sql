-- lift: a group, or one key of it, is slowed down no longer; the caller wakes the tasks behind it.
-- params: 1 group_id, 2 key or null, 3 now
-- index:  spent, by group
update spent
set paused_until = ?3,
    wakes_at     = null,
    over_at      = max(coalesce(spent_until, 0), ?3)
where group_id = ?1
  and (?2 is null or key = ?2)
  and paused_until > ?3
