-- open_group: whatever waits behind the keys of a group is open, if it is of this command, or of any.
-- params: 1 group_id, 2 command_id or null
-- index:  task_parked_idx
update task
set gate         = 'open',
    shelf        = case
                       when fair is not null then 'turn'
                       when lane <> 'top' and suspect = 0 then lane
                   end,
    parked_group = null,
    parked_key   = null,
    parked_as    = 0
where parked_group = ?1
  and parked_group is not null
  and (?2 is null or command_id = ?2)
