-- All open tasks, suspects among them, in the columns by which queries look for them: by `task_ready`, then `task_suspect`. No query that
-- locks rows or wants the first one of a line can use it: a claim and `stats` read `open_task` and `open_suspect`, each in its own order.
create view kinfolk.any_open as
select t.id, t.queue_id, t.lane, t.command_id, t.priority, t.position from kinfolk.open_task t
union all
select t.id, t.queue_id, t.lane, t.command_id, t.priority, t.position from kinfolk.open_suspect t;
