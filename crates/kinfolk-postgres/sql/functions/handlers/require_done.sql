-- Raises unless a settle in this transaction has recorded that this very attempt is done: the answer is `recorded`, and the task is
-- completed, waits for its children, or has failed because of them alone. Answers the state. For `settle_made` in a transaction
-- of the caller's own: select kinfolk.require_done(7, s.answer, s.state) from kinfolk.settle_made(7, …) s.
--
-- The detail of the error is an object: `answer`, `state`, and the `failure` that the settle would have kept. Locks nothing.

create or replace function kinfolk.require_done(task bigint, answer text, state text) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
begin
    if require_done.answer = 'recorded' and require_done.state in ('completed', 'waiting') then
        return require_done.state;
    end if;
    select t.failure, t.outcome into v_task from kinfolk.task t where t.id = require_done.task;
    if require_done.answer = 'recorded' and require_done.state = 'failed' and v_task.outcome = 'completed' then
        return require_done.state;
    end if;
    raise exception using
        errcode = 'KF012',
        message = case
            when require_done.answer = 'repeated' then format('task %s was settled before under this token; it is %s',
                require_done.task, require_done.state)
            when require_done.answer = 'recorded' and require_done.state = 'cancelled'
            then format('the end of task %s was asked for', require_done.task)
            when require_done.answer = 'recorded' then format('what task %s made was refused: %s', require_done.task,
                coalesce(v_task.failure ->> 'message', 'no reason is kept'))
            else format('task %s is no longer with this attempt', require_done.task)
        end,
        hint = 'roll back: what was written beside the settle must not be kept',
        detail = jsonb_build_object('answer', require_done.answer, 'state', require_done.state, 'failure', v_task.failure)::text;
end
$$;
