-- An entry of the error log as it is shown.

create view error_shown as
select error.id,
       error.at,
       error.task_id,
       error.command_id,
       error.queue_id,
       command.name as command,
       queue.name as queue,
       error.attempt,
       error.failure
from error
join command on command.id = error.command_id
join queue on queue.id = error.queue_id;
