-- Settles the task of an SQL handler as done, with what the handler means to make, as the last act of its transaction.
-- Answers `completed` or `waiting`. Anything else is an error, so that what the handler did is undone; its detail says
-- what would have become of the task.
--
-- `p_on_success`: the hook that is to be told of it, in a transaction of its own (`queue_hook`).
-- Locks the groups that the handler wants to slow down, then what `settle` and `hasten_all` lock. Reads and empties the attempt's part of `intent`.

create or replace function kinfolk.finish(p_task bigint, p_token uuid, p_result jsonb, p_on_success text default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
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
    if p_on_success is not null then
        perform kinfolk.queue_hook(p_task, p_token, p_on_success, jsonb_build_object('worker_payload', p_result));
    end if;
    if v_kinds && array['sibling', 'child', 'follow_up'] then
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
    return kinfolk.require_done(p_task, v_end.answer, v_end.state);
end
$$;

-- The same with what the handler means to make: siblings first, then children, then follow-ups.
create or replace function kinfolk.finish_made(
    p_task bigint, p_token uuid, p_result jsonb, out answer text, out state text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_made record;
    v_order text;
begin
    select i.child_order
    into v_order
    from kinfolk.intent i
    where i.task_id = p_task
        and i.token = p_token
        and i.kind = 'order'
    order by i.arrival desc
    limit 1;

    with made as materialized (
        select i.*, row_number() over (
                order by array_position(array['sibling', 'child', 'follow_up'], i.kind), i.arrival) as nth
        from kinfolk.intent i
        where i.task_id = p_task
            and i.token = p_token
            and i.kind in ('sibling', 'child', 'follow_up')
    )
    select count(*) as many, array_agg(m.kind order by m.nth) as kinds, array_agg(m.id order by m.nth) as ids,
        array_agg(m.command order by m.nth) as commands, array_agg(m.payload order by m.nth) as payloads,
        array_agg(m.queue order by m.nth) as queues, array_agg(m.priority order by m.nth) as priorities,
        array_agg(m.due order by m.nth) as dues, array_agg(m.delay_us order by m.nth) as delays,
        array_agg(m.unique_key order by m.nth) as keys, array_agg(m.unique_scope order by m.nth) as scopes,
        array_agg(m.unique_window_us order by m.nth) as windows, array_agg(m.on_duplicate order by m.nth) as on_duplicates,
        array_agg(m.max_attempts order by m.nth) as attempts, array_agg(m.timeout_us order by m.nth) as timeouts,
        array_agg(m.trace order by m.nth) as traces, array_agg(m.starts_when order by m.nth) as whens,
        case when bool_or(m.slot_keys is not null) then array_agg(m.slot_keys order by m.nth) else '{}' end as slot_keys,
        case when bool_or(m.inherits) then array_agg(m.inherits order by m.nth) else '{}' end as inherits
    into v_made
    from made m;
    if v_made.many > kinfolk.made_max() then
        raise exception using errcode = 'KF001', message = format('%s tasks made by one handler', v_made.many),
            hint = format('make at most %s in one attempt; let children make more', kinfolk.made_max());
    end if;
    delete from kinfolk.intent i where i.task_id = p_task;

    select s.answer, s.state
    into answer, state
    from kinfolk.settle_made(p_task, p_token, p_result, coalesce(v_order, 'together'), coalesce(v_made.kinds, '{}'),
        v_made.commands, v_made.payloads, v_made.queues, v_made.priorities, v_made.dues, v_made.delays, v_made.keys,
        v_made.scopes, v_made.windows, v_made.on_duplicates, v_made.attempts, v_made.timeouts, v_made.traces,
        v_made.whens, v_made.ids, p_slot_keys => v_made.slot_keys, p_inherits => v_made.inherits) s;
end
$$;
