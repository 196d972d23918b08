-- The pending tasks behind any gate but `time`, by `task_held`, whose condition this is.
create view kinfolk.held_task as
select t.*
from kinfolk.task t
where t.state = 'pending'
    and t.gate not in ('open', 'time');
