-- The open tasks that are no suspects. A claim reads them by `task_ready`, whose condition this is. A view, and no function: rows of
-- a view can be locked.
create view kinfolk.open_task as
select t.*
from kinfolk.task t
where t.state = 'pending'
    and t.gate = 'open'
    and not t.suspect;
