-- Settles the task of an SQL handler as done, with what the handler means to make, as the last act of its transaction.
-- Answers `completed` or `waiting`; `suspended` where the handler fans out. Anything else is an error, so that what the handler did is
-- undone; its detail says what would have become of the task.
--
-- `p_on_success`: the hook that is to be told of it, in a transaction of its own (`queue_hook`). Locks the groups that the handler wants
-- to slow down, then what `settle` or `suspend`, and `hasten_all` lock. Reads and empties the attempt's part of `intent`.

create or replace function kinfolk.finish(p_task bigint, p_token uuid, p_result jsonb, p_on_success text default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
    v_end record;
    v_kinds text[];
    v_hastened_commands text[];
    v_hastened_keys text[];
begin
    if num_nulls(p_task, p_token) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task or p_token is null',
            hint = 'give the number of the task and the token of its claim';
    end if;
    if p_result is not null then
        perform kinfolk.require_given(p_result, null);
    end if;
    v_kinds := array(select i.kind from kinfolk.intent i where i.task_id = p_task and i.token = p_token);
    if 'slow_down' = any (v_kinds) then
        perform kinfolk.slow_down_all(p_task, p_token, kinfolk.slow_downs(p_task, p_token));
    end if;
    if 'hasten' = any (v_kinds) then
        select array_agg(i.command), array_agg(i.unique_key)
        into v_hastened_commands, v_hastened_keys
        from kinfolk.intent i
        where i.task_id = p_task
            and i.token = p_token
            and i.kind = 'hasten';
    end if;
    if p_on_success is not null and 'fan_out' <> all (v_kinds) then
        perform kinfolk.queue_hook(p_task, null, p_on_success, jsonb_build_object('worker_payload', p_result));
    end if;
    if 'fan_out' = any (v_kinds) then
        select e.* into v_end from kinfolk.finish_fan_out(p_task, p_token, p_result) e;
    elsif v_kinds && array['sibling', 'child', 'follow_up'] then
        select e.* into v_end from kinfolk.finish_made(p_task, p_token, p_result) e;
    else
        if v_kinds <> '{}' then
            delete from kinfolk.intent i where i.task_id = p_task;
        end if;
        -- What is recorded as completed is not answered.
        select coalesce(s.answer, 'recorded') as answer, coalesce(s.state, 'completed') as state
        into v_end
        from (select) nothing
        left join kinfolk.settle(array[p_task], array[p_token], array['done'], array[p_result]) s on true;
    end if;
    if v_hastened_commands is not null then
        perform kinfolk.hasten_all(v_hastened_commands, v_hastened_keys);
    end if;
    return case
        when v_end.state = 'suspended' then v_end.state
        else kinfolk.require_done(p_task, v_end.answer, v_end.state)
    end;
end
$$;
