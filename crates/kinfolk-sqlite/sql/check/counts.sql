-- counts: fan-outs whose counts differ from their children.
-- params: none
-- index:  the whole table; children by task_child_idx
select fan_out.task_id,
       'has ' || fan_out.total || ' children counted, ' || fan_out.completed || ' completed, ' || fan_out.failed
       || ' failed, ' || fan_out.cancelled || ' cancelled, ' || fan_out.held || ' held; there are ' || count(task.id)
       || ', ' || coalesce(sum(task.state = 'completed'), 0) || ', ' || coalesce(sum(task.state = 'failed'), 0) || ', '
       || coalesce(sum(task.state = 'cancelled'), 0) || ', ' || coalesce(sum(task.gate is 'after'), 0)
from fan_out
left join task on task.fan_out_id = fan_out.id and task.fan_out_id is not null
group by fan_out.id
having fan_out.total <> count(task.id)
    or fan_out.completed <> coalesce(sum(task.state = 'completed'), 0)
    or fan_out.failed <> coalesce(sum(task.state = 'failed'), 0)
    or fan_out.cancelled <> coalesce(sum(task.state = 'cancelled'), 0)
    or fan_out.held <> coalesce(sum(task.gate is 'after'), 0)
