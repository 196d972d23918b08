-- task: a failed or cancelled task gets fresh attempts, at its old position. It does not get its unique key back.
-- params: 1 id, 2 now, 3 gate
-- index:  by number
update task
set state               = 'pending',
    gate                = ?3,
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
    bucket              = case
                              when ?3 <> 'open' then ?3
                              when exists (select 1 from queue where id = queue_id and fair is not null) then 'turn'
                              when lane <> 'top' then lane
                          end
where id = ?1
