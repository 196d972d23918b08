-- Suspends the task of a function that fans out, as the last act of its transaction: the sub-tasks, a checkpoint `fan_out` and a step
-- `then` before it, which says what is to be called and what the function answered. A function fans out once, and makes nothing else
-- in the same step. Answers as `suspend` does, but `suspended` as the state where that was recorded.
--
-- Locks what `suspend` locks. Reads and empties the attempt's part of `intent`; reads `checkpoint` by its key.

create or replace function kinfolk.finish_fan_out(p_task bigint, p_token uuid, p_result jsonb, out answer text, out state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_meant jsonb;
    v_subs kinfolk.given_tasks;
    v_many integer;
    v_nth integer := coalesce((
        select max(c.occurrence) from kinfolk.checkpoint c where c.task_id = p_task and c.branch = '' and c.name = 'then'), -1) + 1;
    v_then jsonb;
begin
    if (
        select count(*)
        from kinfolk.intent i
        where i.task_id = p_task
            and i.token = p_token
            and i.kind not in ('hasten', 'slow_down')) > 1
    then
        raise exception using errcode = 'KF011', message = format('task %s fans out, and makes something else as well', p_task),
            hint = 'fan out once in a step, and spawn in another one', detail = 'fans_out';
    end if;
    select i.payload into v_meant from kinfolk.intent i where i.task_id = p_task and i.token = p_token and i.kind = 'fan_out';
    v_subs := kinfolk.sub_tasks(v_meant -> 'subs', (select t.trace from kinfolk.task t where t.id = p_task));
    v_many := cardinality(v_subs.commands);
    v_then := jsonb_build_object('and_then', v_meant -> 'and_then', 'otherwise', v_meant -> 'otherwise', 'returned', p_result);
    delete from kinfolk.intent i where i.task_id = p_task;
    select s.answer, s.state
    into answer, state
    from kinfolk.suspend(p_task, p_token,
        -- Without sub-tasks there is nothing to wait for, and the task is pending again at once.
        p_awaits => row('{}', '{}', case when v_many = 0 then kinfolk.clock() end, '{}')::kinfolk.awaits,
        p_steps => row(array[''], array['then'], array[v_nth], array['step'], array['sql'], array[v_then])::kinfolk.checkpoints,
        p_made => v_subs,
        p_fans => kinfolk.fan_out_of(v_meant, v_many, v_nth)) s;
    -- An attempt that is refused, cancelled or stale has recorded nothing.
    if exists (
        select from kinfolk.checkpoint c where c.task_id = p_task and c.branch = '' and c.name = 'then' and c.occurrence = v_nth)
    then
        state := 'suspended';
    end if;
end
$$;
