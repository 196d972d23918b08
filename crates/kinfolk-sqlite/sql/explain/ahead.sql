-- ahead: how many open tasks of one command on a queue stand before a given one, lane by lane; each counted so far at most.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 position, 5 id, 6 at most
-- index:  task_ready_idx, task_bucket_idx and task_suspect_idx, alone
select (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and gate = 'open'
          and suspect = 0
          and lane = 'top'
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and bucket = 'root'
          and bucket is not null
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and bucket = 'child'
          and bucket is not null
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and lane = 'top'
          and gate = 'open'
          and suspect = 1
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and lane = 'root'
          and gate = 'open'
          and suspect = 1
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and lane = 'child'
          and gate = 'open'
          and suspect = 1
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
) + (
    select count(*)
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and bucket = 'turn'
          and bucket is not null
          and lane <> 'top'
          and suspect = 0
          and (priority, position, id) < (?3, ?4, ?5)
        limit ?6
    )
)
