-- The error log as it is shown: every attempt that failed, whatever became of its task.

create or replace view kinfolk.errors as
select
    e.id,
    e.at,
    e.task_id as task,
    c.name as command,
    q.name as queue,
    e.attempt,
    e.handler,
    e.failure ->> 'kind' as kind,
    e.failure #>> '{detail,sqlstate}' as sqlstate,
    e.failure ->> 'message' as message,
    e.failure #>> '{detail,context}' as context,
    e.failure
from kinfolk.error e
join kinfolk.command c on c.id = e.command_id
join kinfolk.queue q on q.id = e.queue_id;
