-- Locks the tasks of a claim and takes their slots, for commands with groups; `pick_from_lines` and `pick_suspect` do it for other
-- commands. In the order of the claim each candidate takes a slot of all its keys, or is blocked behind its first full key
-- (`kinfolk_core::admit`). `p_picked`: the claim so far. `p_lanes`, `p_rooms`: the lanes to look at, and the room of each.
--
-- The caller has the admission locks of all groups of these commands. Locks the worker's row where there may be suspects, then tasks,
-- never waiting. Reads `task_ready`, `task_suspect` and `task_blocked`. Runs under the settings of the claim.
create or replace function kinfolk.pick_with_keys(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_work kinfolk.claim_work, p_picked kinfolk.claim_picked,
    p_lanes kinfolk.lane[], p_rooms integer[]
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
declare
    v_commands integer[] := array(select c.id from kinfolk.command c where c.name = any (p_scope.commands));
    v_ready kinfolk.claim_ready := kinfolk.next_ready_keys(p_call.worker_id, p_scope, v_commands, p_picked.at);
    v_has_blocked boolean := v_ready.keys is not null or v_ready.has_reserved;
    v_may_suspect boolean := false;
    v_admission kinfolk.claim_admission;
begin
    if p_work.has_suspects or v_ready.keys is not null then
        v_may_suspect := kinfolk.may_run_suspect(p_call.worker_id);
    end if;
    -- A suspect may be in a lane in which nothing else is open.
    if not (p_work.beside or p_work.has_suspects or v_has_blocked) then
        p_lanes := '{top}';
    end if;
    if not (v_has_blocked or p_work.has_suspects) and p_scope.low_id = '{}' and (cardinality(v_commands) > 1 or p_scope.groups = '{}') then
        if not kinfolk.has_open_task(p_scope.queue_id, array(select c.name from kinfolk.command c where c.id = any (v_commands) and c.grouped)) then
            -- No open task here has a group; a task that has come since then must not go past its groups.
            select p.ids, p.tops, p.starts_unique, p.short, false
            into p_picked.ids, p_picked.tops, p_picked.starts_unique, p_picked.short, p_picked.more
            from kinfolk.pick_from_lines(p_scope.queue_id, kinfolk.without_groups(p_scope.commands), p_call.most, p_lanes, p_rooms, '{}', '{}', '{}') p;
            return p_picked;
        end if;
        select array_agg(c.name), array_agg(c.id)
        into p_scope.commands, v_commands
        from kinfolk.command c
        where c.id = any (v_commands)
            and kinfolk.has_open_task(p_scope.queue_id, array[c.name]);
    end if;
    v_admission := kinfolk.admit_pages(p_scope, v_commands, kinfolk.begin_admission(p_call.most, p_lanes, p_rooms, v_may_suspect), v_ready,
        p_lanes, p_picked.at);
    perform kinfolk.end_admission(p_scope.queue_id, v_commands, v_admission, v_ready, p_picked.at);
    if v_ready.is_full or v_ready.is_later then
        -- A claim with use for more looks at the next ones, any other begins again with the first.
        v_ready.is_full := v_ready.is_full and v_admission.most > 0 and not v_admission.more;
        if not v_ready.is_full then
            v_ready.commands := null;
        end if;
        v_admission.more := kinfolk.go_on_behind(p_call.worker_id, p_scope.queue_id, v_ready) and v_ready.is_full or v_admission.more;
    end if;
    return row(v_admission.ids, v_admission.tops, v_admission.starts_unique, v_admission.most > 0 and p_scope.low_id <> '{}',
        v_admission.more, v_admission.left_out or p_picked.left_out, p_picked.at, null)::kinfolk.claim_picked;
end
$$;
