-- The open tasks, each arm in the order of its index. A query gives the queue and the command. An open task on a queue whose tasks take
-- turns may be in two arms, so a query that counts says `distinct`.

create view open_task as
select id, queue_id, command_id, priority, position
from task
where gate = 'open' and (suspect = 0 and lane = 'top')
union all
select id, queue_id, command_id, priority, position
from task
where bucket = 'root' and bucket is not null
union all
select id, queue_id, command_id, priority, position
from task
where bucket = 'child' and bucket is not null
union all
select id, queue_id, command_id, priority, position
from task
where bucket = 'turn' and bucket is not null
union all
select id, queue_id, command_id, priority, position
from task
where gate = 'open' and suspect = 1 and lane = 'top'
union all
select id, queue_id, command_id, priority, position
from task
where gate = 'open' and suspect = 1 and lane = 'root'
union all
select id, queue_id, command_id, priority, position
from task
where gate = 'open' and suspect = 1 and lane = 'child';
