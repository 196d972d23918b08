-- more: in which states there are more tasks than are counted: completed, failed, cancelled.
-- params: 1 page
-- index:  by number, backwards; task_not_completed_idx, backwards
select exists (
           select 1
           from task
           where id > 0
           order by id desc
           limit 1 offset ?1
       ),
       exists (
           select 1
           from task
           where state = 'failed'
             and (state = 'failed' or state = 'cancelled')
           order by finished_at desc
           limit 1 offset ?1
       ),
       exists (
           select 1
           from task
           where state = 'cancelled'
             and (state = 'failed' or state = 'cancelled')
           order by finished_at desc
           limit 1 offset ?1
       )
