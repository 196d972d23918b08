-- due: the schedules whose tick has come.
-- params: 1 now
-- index:  schedule_due_idx
select *
from schedule
where paused = 0
  and next_at <= ?1
order by next_at, name
