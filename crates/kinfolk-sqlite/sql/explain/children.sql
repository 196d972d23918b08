-- children: the first open children of a task, by number. Of each fan-out only the first ones are looked for, by nth, which is the
-- order of their numbers too.
-- params: 1 task_id, 2 page
-- index:  fan_out_open_idx; children by task_child_idx
select task.id
from fan_out
cross join task
    on task.fan_out_id = fan_out.id
    and task.fan_out_id is not null
    and task.nth in (
        select first.nth
        from task as first
        where first.fan_out_id = fan_out.id
          and first.fan_out_id is not null
          and first.finished_at is null
        order by first.nth
        limit ?2
    )
where fan_out.task_id = ?1
  and fan_out.total > fan_out.completed + fan_out.failed + fan_out.cancelled
order by task.id
limit ?2
