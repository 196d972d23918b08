-- open_group: whatever waits behind the keys of a group is open, if it is of this command, or of any.
-- params: 1 group_id, 2 command_id or null
-- index:  task_blocked_idx
update task
set gate          = 'open',
    bucket        = case
                       when fair is not null then 'turn'
                       when lane <> 'top' and suspect = 0 then lane
                   end,
    blocked_group = null,
    blocked_key   = null,
    blocked_as    = 0
where blocked_group = ?1
  and blocked_group is not null
  and (?2 is null or command_id = ?2)
