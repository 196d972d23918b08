-- verdicts: the awaited fan-outs of a task that did not end well and whose checkpoints are there: which checkpoint that
-- is, and up to which one no record follows from how they ended: neither from the verdict nor, for a
-- stream, from the order of the children. If the task was cancelled, a fan-out with cancelled children is among them.
-- params: 1 task_id, 2 whether it was cancelled
-- index:  fan_out_task_idx, checkpoint_key_idx
select fan_out.id,
       begun.seq,
       min(
           fan_out.decided_step,
           coalesce(
               (
                   select min(fold.seq)
                   from checkpoint as fold
                   where fold.task_id = ?1
                     and fold.kind = 'fold'
                     and fold.seq > begun.seq
               ),
               fan_out.decided_step
           )
       )
from fan_out
join checkpoint as begun on begun.task_id = ?1 and begun.kind = 'fan_out' and begun.value = cast(fan_out.id as text)
where fan_out.task_id = ?1
  and (fan_out.verdict = 'failed' or fan_out.verdict = 'timed_out' or (?2 and fan_out.cancelled > 0))
order by fan_out.id
