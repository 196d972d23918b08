-- open: open the gate of what is due on a queue, one page, earliest first. Suspended tasks are resumed apart.
-- params: 1 queue_id, 2 now, 3 page
-- index:  task_due_idx
update task
set gate   = 'open',
    bucket = case
                when fair is not null then 'turn'
                when lane <> 'top' and suspect = 0 then lane
            end
where state = 'pending'
  and id in (
      select id
      from task
      where queue_id = ?1
        and gate = 'time'
        and due <= ?2
      order by due, id
      limit ?3
  )
