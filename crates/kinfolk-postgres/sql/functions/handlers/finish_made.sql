-- `finish` for a handler that means to make tasks: settles its task as done, and makes siblings first, then children,
-- then follow-ups. Answers as `settle_given` does.
--
-- Locks what `settle_given` locks. Reads and empties the attempt's part of `intent`.
create or replace function kinfolk.finish_made(
    p_task bigint, p_token uuid, p_result jsonb, out answer text, out state text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_made kinfolk.given_tasks;
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
    select coalesce(array_agg(m.kind order by m.nth), '{}'), array_agg(m.id order by m.nth), array_agg(m.command order by m.nth),
        array_agg(m.payload order by m.nth), array_agg(m.queue order by m.nth), array_agg(m.priority order by m.nth),
        array_agg(m.due order by m.nth), array_agg(m.delay_us order by m.nth), array_agg(m.unique_key order by m.nth),
        array_agg(m.unique_scope order by m.nth), array_agg(m.unique_window_us order by m.nth),
        array_agg(m.on_duplicate order by m.nth), array_agg(m.max_attempts order by m.nth), array_agg(m.timeout_us order by m.nth),
        array_agg(m.trace order by m.nth), array_agg(m.starts_when order by m.nth),
        case when bool_or(m.slot_keys is not null) then array_agg(m.slot_keys order by m.nth) else '{}' end,
        case when bool_or(m.inherits) then array_agg(m.inherits order by m.nth) else '{}' end
    into v_made
    from made m;
    if cardinality(v_made.kinds) > kinfolk.made_max() then
        raise exception using errcode = 'KF001', message = format('%s tasks made by one handler', cardinality(v_made.kinds)),
            hint = format('make at most %s in one attempt; let children make more', kinfolk.made_max());
    end if;
    delete from kinfolk.intent i where i.task_id = p_task;
    select s.answer, s.state
    into answer, state
    from kinfolk.settle_given(p_task, p_token, p_result, coalesce(v_order, 'together'), v_made) s;
end
$$;
