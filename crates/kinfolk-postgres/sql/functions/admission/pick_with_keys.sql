-- Locks the tasks of a claim and takes their slots, for commands with groups; `pick` and `pick_suspect` do it for other commands. In
-- the order of the claim each candidate takes a slot of all its keys, or is blocked behind its first full key (`kinfolk_core::admit`).
-- `p_picked`: what is known of the claim so far. `p_lanes`, `p_rooms`: the lanes to look at, and the room of each.
--
-- The caller has the admission locks of all groups of these commands. Locks the worker's row where there may be suspects, then tasks,
-- never waiting. Reads `task_ready` and `task_suspect`. Runs under the settings of the claim.
create or replace function kinfolk.pick_with_keys(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_picked kinfolk.claim_picked,
    p_lanes kinfolk.lane[], p_rooms integer[]
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
declare
    v_commands integer[] := array(select c.id from kinfolk.command c where c.name = any (p_scope.commands));
    v_has_hints boolean := kinfolk.take_hints(p_scope.queue_id, p_scope.groups, p_picked.at);
    v_has_suspects boolean;
    v_beside boolean;
    v_admission kinfolk.claim_admission;
begin
    -- point: claim.hints_taken
    if p_scope.low_id <> '{}' and kinfolk.awaited_groups(p_scope.groups) <> '{}' then
        -- A ready waiter may stand before the cursors.
        p_scope.low_priority := '{}';
        p_scope.low_position := '{}';
        p_scope.low_id := '{}';
    end if;
    select exists (select from kinfolk.startable_suspect t where t.queue_id = p_scope.queue_id),
        p_scope.limited or p_scope.low_id <> '{}' or exists (select from kinfolk.startable_task t where t.queue_id = p_scope.queue_id and t.lane < 'top')
    into v_has_suspects, v_beside;
    -- A suspect may stand in a lane in which nothing else is open.
    if not (v_beside or v_has_suspects) then
        p_lanes := '{top}';
    end if;
    if not v_has_suspects and p_scope.low_id = '{}' and (cardinality(v_commands) > 1 or p_scope.groups = '{}') then
        if not kinfolk.has_open(p_scope.queue_id, array(select c.name from kinfolk.command c where c.id = any (v_commands) and c.grouped)) then
            -- Nothing here that groups are asked about; what has come since then must not go past them.
            select p.ids, p.tops, p.starts_unique, p.short, v_has_hints
            into p_picked.ids, p_picked.tops, p_picked.starts_unique, p_picked.short, p_picked.more
            from kinfolk.pick(p_scope.queue_id, kinfolk.without_groups(p_scope.commands), p_call.most, p_lanes, p_rooms, '{}', '{}', '{}') p;
            return p_picked;
        end if;
        select array_agg(c.name)
        into p_scope.commands
        from kinfolk.command c
        where c.id = any (v_commands)
            and kinfolk.has_open(p_scope.queue_id, array[c.name]);
    end if;
    v_admission := kinfolk.begin_admission(p_call.most, p_lanes, p_rooms, v_has_suspects and kinfolk.may_run_suspect(p_call.worker_id));
    v_admission := kinfolk.admit_pages(p_scope, v_admission, p_lanes, p_picked.at);
    perform kinfolk.end_admission(p_scope.queue_id, v_admission, p_picked.at);
    return row(v_admission.ids, v_admission.tops, v_admission.starts_unique, v_admission.most > 0 and p_scope.low_id <> '{}',
        v_admission.more or (v_has_hints and v_admission.most > 0), v_admission.left_out or p_picked.left_out,
        p_picked.at)::kinfolk.claim_picked;
end
$$;
