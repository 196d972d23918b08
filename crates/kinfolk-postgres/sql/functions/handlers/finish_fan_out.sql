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
    v_subs record;
    -- Without sub-tasks there is nothing to wait for, and the task is pending again at once.
    v_fans integer;
    v_nth integer := coalesce((
        select max(c.occurrence) from kinfolk.checkpoint c where c.task_id = p_task and c.branch = '' and c.name = 'then'), -1) + 1;
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
    select s.*
    into v_subs
    from kinfolk.sub_tasks(v_meant -> 'subs', (select t.trace from kinfolk.task t where t.id = p_task)) s;
    v_fans := least(v_subs.many, 1);
    delete from kinfolk.intent i where i.task_id = p_task;
    select s.answer, s.state
    into answer, state
    from kinfolk.suspend(
        p_task, p_token, p_branches => array[''], p_names => array['then'], p_occurrences => array[v_nth],
        p_step_kinds => array['step'], p_digests => array['sql'],
        p_values => array[jsonb_build_object('and_then', v_meant -> 'and_then', 'otherwise', v_meant -> 'otherwise', 'returned', p_result)],
        p_order => 'together', p_kinds => '{}', p_commands => v_subs.commands, p_payloads => v_subs.payloads,
        p_queues => v_subs.queues, p_priorities => v_subs.priorities, p_dues => v_subs.dues, p_delays_us => v_subs.delays_us,
        p_keys => '{}', p_scopes => '{}', p_windows_us => '{}', p_on_duplicates => '{}', p_max_attempts => v_subs.attempts,
        p_timeouts_us => v_subs.timeouts_us, p_traces => v_subs.traces, p_whens => '{}',
        p_sizes => array_fill(v_subs.many, array[v_fans]), p_fan_branches => array_fill(''::text, array[v_fans]),
        p_fan_names => array_fill('fan_out'::text, array[v_fans]), p_fan_occurrences => array_fill(v_nth, array[v_fans]),
        p_fan_digests => array_fill('sql'::text, array[v_fans]), p_fan_rules => array_fill(v_meant ->> 'rule', array[v_fans]),
        p_fan_parts => array_fill((v_meant ->> 'parts')::integer, array[v_fans]),
        p_fan_timeouts_us => array_fill((v_meant ->> 'timeout_us')::bigint, array[v_fans]),
        p_fan_cancels => array_fill((v_meant ->> 'cancels')::boolean, array[v_fans]),
        p_fan_wakes => array_fill(v_subs.many, array[v_fans]), p_awaits => '{}', p_wakes => '{}',
        p_until => case when v_fans = 0 then kinfolk.clock() end, p_signals => '{}', p_slot_keys => v_subs.slot_keys,
        p_inherits => v_subs.inherits) s;
    -- An attempt that is refused, cancelled or stale has recorded nothing.
    if exists (
        select from kinfolk.checkpoint c where c.task_id = p_task and c.branch = '' and c.name = 'then' and c.occurrence = v_nth)
    then
        state := 'suspended';
    end if;
end
$$;
