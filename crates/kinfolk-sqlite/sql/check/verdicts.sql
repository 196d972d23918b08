-- verdicts: fan-outs with half a verdict, or one over spawned children, or none though all children have ended.
-- params: none
-- index:  the whole table
select task_id,
       'fan-out ' || id || ' has rule ' || coalesce(rule, 'none') || ', verdict ' || coalesce(verdict, 'none')
       || ', decided at ' || coalesce(decided_at, 'no count') || ' in step ' || coalesce(decided_step, 'none')
from fan_out
where (verdict is null) <> (decided_at is null)
   or (verdict is null) <> (decided_step is null)
   or (rule is null and (verdict is not null or deadline is not null or wake_at is not null))
   or (rule is null) <> (id = task_id)
   or (rule is not null and verdict is null and completed + failed + cancelled = total)
