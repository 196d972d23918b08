-- What a claim with keys looks at: open tasks, and tasks behind keys that have room for them. By `task_ready`.
create view kinfolk.startable_task as
select t.*
from kinfolk.task t
where t.state = 'pending'
    and t.gate in ('open', 'ready')
    and not t.suspect;
