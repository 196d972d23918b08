-- Settles an attempt, whose task the caller has locked, that made what can't be made. It may be tried again if that may pass: a
-- command, a queue or a group that is not known may yet be made known.
create or replace function kinfolk.settle_refused(p_maker kinfolk.maker, p_made kinfolk.made)
returns table (answer text, state text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_command text := p_made.commands[p_made.refused];
    v_queue text := p_made.queues[p_made.refused];
    v_keys jsonb := p_made.slot_keys[p_made.refused];
    v_item record;
    v_name text;
begin
    select s.command_id, s.why, q.name as queue, rq.name as root_queue
    into v_item
    from kinfolk.resolve_one(p_maker, p_made.kinds[p_made.refused], v_command, v_queue, v_keys) s
    join kinfolk.task r on r.id = p_maker.root_id
    join kinfolk.queue rq on rq.id = r.queue_id
    left join kinfolk.queue q on q.id = s.queue_id;
    v_name := case v_item.why
        when 'no_parent' then p_maker.task_id::text
        when 'unknown_command' then v_command
        when 'unknown_queue' then v_queue
        when 'unknown_group' then kinfolk.unknown_group(v_item.command_id, v_keys)
        when 'no_children' then v_item.queue
        else v_item.root_queue
    end;
    return query
    select r.answer, r.state
    from kinfolk.settle_maker(p_maker,
        case when v_item.why in ('unknown_command', 'unknown_queue', 'unknown_group') then 'failed' else 'never' end, null,
        kinfolk.failure_refused(v_item.why, v_name)) r;
end
$$;
