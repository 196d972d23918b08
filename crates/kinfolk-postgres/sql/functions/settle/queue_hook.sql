-- Makes the task that tells a hook how an attempt ended: a task of the command `db_function`, made in the transaction that records that
-- end, so that there is one for each, and none is lost. The hook runs in the transaction that settles it: exactly once.
-- `p_attempt`: which attempt it was, where that is not the task's own any more.
--
-- Its payload has `original_payload`, what is told, the number of the `task`, the `attempt` and the `run`. A payload that would be too
-- large goes without what is told and `original_payload`. Locks nothing; reads by the keys of task and body.

create or replace function kinfolk.queue_hook(p_task bigint, p_attempt integer, p_hook text, p_told jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task record;
    v_payload jsonb;
begin
    select coalesce(p_attempt, t.attempt) as attempt, t.runs, kinfolk.payload_of(t.id) as payload, t.trace
    into v_task
    from kinfolk.task t
    where t.id = p_task;
    v_payload := jsonb_build_object('task_type', 'db_function', 'db_function', p_hook, 'task', p_task, 'attempt', v_task.attempt,
        'run', v_task.runs);
    if kinfolk.json_bytes(v_task.payload) + kinfolk.json_bytes(p_told) < kinfolk.payload_bytes_max() - 1000 then
        v_payload := v_payload || jsonb_build_object('original_payload', v_task.payload) || p_told;
    end if;
    perform kinfolk.enqueue('db_function', v_payload, trace => v_task.trace);
end
$$;
