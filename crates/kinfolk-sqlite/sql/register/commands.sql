-- commands: every command with its defaults and its queue's name.
-- params: none
-- index:  the whole table, which is small; queue by its number
select command.id,
       command.name,
       queue.name as queue,
       command.priority,
       command.max_attempts,
       command.base_ms,
       command.cap_ms,
       command.jitter_pct,
       command.max_strikes,
       command.timeout,
       command.label
from command
join queue on queue.id = command.queue_id
