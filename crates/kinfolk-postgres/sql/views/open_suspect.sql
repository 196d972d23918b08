-- The open tasks that are suspects, by `task_suspect`. Apart from `open_task`: each has an index of its own.
create view kinfolk.open_suspect as
select t.*
from kinfolk.task t
where t.state = 'pending'
    and t.gate = 'open'
    and t.suspect;
