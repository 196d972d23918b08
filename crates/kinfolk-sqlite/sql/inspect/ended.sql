-- ended: how many tasks have ended, by queue, command and state: completed ones among the newest, failed and cancelled ones among the tasks
-- that ended last.
-- params: 1 page
-- index:  by number, backwards; task_not_completed_idx, backwards and alone
select queue_id,
       command_id,
       state,
       count(*) as tasks
from (
    select *
    from (
        select queue_id,
               command_id,
               state
        from task
        where id > 0
        order by id desc
        limit ?1
    )
    where state = 'completed'
    union all
    select *
    from (
        select queue_id,
               command_id,
               state
        from task
        where state = 'failed'
          and (state = 'failed' or state = 'cancelled')
        order by finished_at desc, id desc
        limit ?1
    )
    union all
    select *
    from (
        select queue_id,
               command_id,
               state
        from task
        where state = 'cancelled'
          and (state = 'failed' or state = 'cancelled')
        order by finished_at desc, id desc
        limit ?1
    )
)
group by queue_id, command_id, state
