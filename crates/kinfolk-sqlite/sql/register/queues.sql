-- queues: every queue with its policy.
-- params: none
-- index:  the whole table, which is small
select id,
       name,
       paused_at,
       paused_by,
       keep_completed,
       keep_failed,
       keep_cancelled,
       family_limit,
       child_limit,
       depth_limit,
       fair
from queue
