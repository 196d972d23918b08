-- The suspects among what a claim with keys looks at. By `task_suspect`.
create view kinfolk.startable_suspect as
select t.*
from kinfolk.task t
where t.state = 'pending'
    and t.gate in ('open', 'ready')
    and t.suspect;
