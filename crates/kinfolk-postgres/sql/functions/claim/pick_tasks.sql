-- The third step of a claim: finds the room that each lane has, and locks the tasks to start, in the order of the claim. Tasks that
-- have keys take their slots (`pick_grouped`).
--
-- The caller has the admission locks. Locks tasks, never waiting. Reads the heads of the claim's commands in `task_ready`.

create or replace function kinfolk.pick_tasks(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_work kinfolk.claim_work
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
declare
    v_picked kinfolk.claim_picked;
    v_lanes kinfolk.lane[] := '{top,root,child}';
    v_rooms integer[] := array[p_call.most, p_call.most, p_call.most];
begin
    v_picked.tops := '{}';
    v_picked.at := p_work.at;
    if p_scope.limited then
        select r.lanes, r.rooms, r.left_out
        into v_lanes, v_rooms, v_picked.left_out
        from kinfolk.lane_rooms(p_scope.queue_id, p_scope.family_limit, p_scope.child_limit, p_call.most, p_work.at) r;
        -- A task starts after the end of the task that has made room for it.
        v_picked.at := kinfolk.clock();
    end if;
    if p_scope.groups is not null or p_scope.fair is not null then
        v_picked := kinfolk.pick_grouped(p_call, p_scope, p_work, v_picked, v_lanes, v_rooms);
    elsif p_work.beside or cardinality(p_scope.commands) > 1 then
        select p.ids, p.tops, p.starts_unique, p.short
        into v_picked.ids, v_picked.tops, v_picked.starts_unique, v_picked.short
        from kinfolk.pick_from_lines(p_scope.queue_id, p_scope.commands, p_call.most,
            case when p_work.beside then v_lanes else '{top}' end, v_rooms,
            p_scope.low_priority, p_scope.low_position, p_scope.low_id) p;
    else
        -- One command in one lane, no room to watch and no cursors: nothing to merge.
        with head as materialized (
            select t.id, t.unique_held and t.runs = 0 as starts_unique
            from kinfolk.open_task t
            where t.queue_id = p_scope.queue_id
                and t.lane = 'top'
                and t.command_id = (select c.id from kinfolk.command c where c.name = p_scope.commands[1])
            order by t.priority, t.position, t.id
            limit p_call.most
            for update skip locked
        )
        select coalesce(array_agg(h.id), '{}'), bool_or(h.starts_unique)
        into v_picked.ids, v_picked.starts_unique
        from head h;
    end if;
    if p_work.has_suspects and p_scope.groups is null and p_scope.fair is null then
        select p.ids, p.tops, p.starts_unique
        into v_picked.ids, v_picked.tops, v_picked.starts_unique
        from kinfolk.pick_suspect(p_call.worker_id, p_scope.queue_id, p_scope.commands, p_call.most, v_lanes, v_rooms,
            v_picked.ids) p;
    end if;
    if p_scope.family_limit is null then
        v_picked.tops := '{}';
    elsif v_picked.tops <> '{}' then
        v_picked.again := array(select t.id from kinfolk.task t where t.id = any (v_picked.tops) and t.runs > 0);
    end if;
    return v_picked;
end
$$;
