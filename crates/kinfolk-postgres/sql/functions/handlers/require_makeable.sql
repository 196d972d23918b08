-- Refuses a task that its maker's settle would refuse. The error says in its detail which refusal it is.
create or replace function kinfolk.require_makeable(
    p_task kinfolk.task, p_kind text, p_command text, p_queue text, p_slot_keys jsonb
) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_queue record;
    v_depth integer := p_task.depth + case p_kind when 'child' then 1 else 0 end;
    v_limit record;
begin
    -- The children that a handler awaits are those it asked for, and no others.
    if p_kind = 'sibling' and (p_task.parent_id is null or p_task.fan_out_id <> p_task.parent_id) then
        raise exception using errcode = 'KF011',
            message = format('task %s has no parent that takes siblings: it is a root, or its parent awaits its result', p_task.id),
            hint = 'spawn a child, or enqueue a task', detail = 'no_parent';
    end if;
    select c.id as command_id, q.id, q.name, q.child_limit
    into v_queue
    from (values (p_command, p_queue)) g(command, queue)
    left join kinfolk.command c on c.name = g.command
    left join kinfolk.queue q on case when g.queue is null then q.id = c.queue_id else q.name = g.queue end;
    if v_queue.command_id is null then
        raise exception using errcode = 'KF011', message = format('unknown command %s', p_command),
            hint = 'register it, or start a worker that handles it', detail = 'unknown_command';
    elsif v_queue.id is null then
        raise exception using errcode = 'KF011', message = format('unknown queue %s', p_queue),
            hint = 'register a command on it, or make it with `kinfolk queue set`', detail = 'unknown_queue';
    end if;
    if kinfolk.unknown_group(v_queue.command_id, p_slot_keys) is not null then
        raise exception using errcode = 'KF011',
            message = format('unknown group %s', kinfolk.unknown_group(v_queue.command_id, p_slot_keys)),
            hint = 'leave the key out, or declare the group with its command', detail = 'unknown_group';
    end if;
    if p_kind not in ('child', 'sibling') then
        return;
    end if;
    if v_queue.child_limit = 0 then
        raise exception using errcode = 'KF011', message = format('queue %s takes no children', v_queue.name),
            hint = 'spawn onto another queue, or raise its child_limit', detail = 'no_children';
    end if;
    select q.name, q.depth_limit
    into v_limit
    from kinfolk.task r
    join kinfolk.queue q on q.id = r.queue_id
    where r.id = coalesce(p_task.root_id, p_task.id);
    if v_depth > v_limit.depth_limit then
        raise exception using errcode = 'KF011',
            message = format('a family on queue %s may not grow this deep', v_limit.name),
            hint = 'spawn less deeply, or raise its depth_limit', detail = 'too_deep';
    end if;
end
$$;
