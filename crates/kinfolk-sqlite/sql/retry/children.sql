-- children: those children of a fan-out that failed or were cancelled, and have no children, get fresh attempts, at their
-- old position. They do not get their unique keys back.
-- params: 1 fan_out_id, 2 now, 3 gate of the first, 4 gate of the others, 5 nth of the first
-- index:  task_child_idx; fan-outs by task
update task
set state               = 'pending',
    gate                = iif(nth = ?5, ?3, ?4),
    due                 = ?2,
    attempt             = 0,
    suspect             = 0,
    strikes             = 0,
    failure             = null,
    result              = null,
    started_at          = null,
    ran_before          = 0,
    finished_at         = null,
    cancel_requested_at = null,
    token               = null,
    fair                = (
                              select coalesce(task.keys ->> ('$."' || queue.fair || '"'), '')
                              from queue
                              where queue.id = task.queue_id
                                and queue.fair is not null
                          ),
    bucket              = replace(
                              iif(nth = ?5, ?3, ?4),
                              'open',
                              iif(exists (select 1 from queue where id = queue_id and fair is not null), 'turn', 'child')
                          )
where fan_out_id = ?1
  and fan_out_id is not null
  and ((state = 'failed' and outcome is null) or state = 'cancelled')
  and not exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
  )
