-- Settles an attempt, whose task the caller has locked, that made what can't be made. It may be tried again if that may pass:
-- someone may yet make known what was not.
create or replace function kinfolk.settle_refused(
    p_task bigint, p_token uuid, p_kind text, p_command text, p_queue text, p_keys jsonb, p_root bigint,
    p_parked bigint[], p_now timestamptz
) returns table (answer text, state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_item record;
    v_why text;
    v_name text;
begin
    select t.parent_id, t.fan_out_id, t.depth, c.id as command_id, p_queue is null or q.id is not null as has_queue, h.name as queue,
        h.child_limit, rq.name as root_queue, least(rq.depth_limit, kinfolk.depth_max()) as depth_limit
    into v_item
    from kinfolk.task t
    join kinfolk.task r on r.id = p_root
    join kinfolk.queue rq on rq.id = r.queue_id
    left join kinfolk.command c on c.name = p_command
    left join kinfolk.queue q on q.name = p_queue
    left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
    where t.id = p_task;
    v_why := kinfolk.why_not(p_kind, v_item.parent_id, v_item.fan_out_id, v_item.command_id, v_item.has_queue,
        kinfolk.unknown_group(v_item.command_id, p_keys), v_item.child_limit, v_item.depth, v_item.depth_limit);
    v_name := case v_why
        when 'no_parent' then p_task::text
        when 'unknown_command' then p_command
        when 'unknown_queue' then p_queue
        when 'unknown_group' then kinfolk.unknown_group(v_item.command_id, p_keys)
        when 'no_children' then v_item.queue
        else v_item.root_queue
    end;
    return query
    select r.answer, r.state
    from kinfolk.settle_rest(
        row(array[p_task], array[p_token],
            array[case when v_why in ('unknown_command', 'unknown_queue', 'unknown_group') then 'failed' else 'never' end], '{}',
            array[kinfolk.failure_refused(v_why, v_name)], '{}')::kinfolk.settles,
        '{}', p_now, array[p_root], p_parked) r;
end
$$;
