-- The part of `pick_tasks` for commands that have groups, and for queues with a fair key: takes the slots of what it locks.
-- `p_picked`: what is known of the claim so far. See `pick_with_keys` and `pick_turns`.

create or replace function kinfolk.pick_grouped(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_work kinfolk.claim_work, p_picked kinfolk.claim_picked,
    p_lanes kinfolk.lane[], p_rooms integer[]
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
begin
    if p_scope.fair is not null then
        p_picked.left_out := kinfolk.sort_in(p_scope.queue_id, p_scope.commands, p_scope.fair) or p_picked.left_out;
        p_scope.low_priority := '{}';
        p_scope.low_position := '{}';
        p_scope.low_id := '{}';
        p_work.has_suspects := false;
    end if;
    select p.ids, p.tops, p.starts_unique, p.short, p.more, p.left_out or p_picked.left_out
    into p_picked.ids, p_picked.tops, p_picked.starts_unique, p_picked.short, p_picked.more, p_picked.left_out
    from kinfolk.pick_with_keys(p_call.worker_id, p_scope.queue_id, p_scope.commands, coalesce(p_scope.groups, '{}'), p_call.most,
        p_lanes, p_rooms,
        -- A suspect may stand in a lane in which nothing else is open.
        p_work.beside or p_work.has_suspects, p_scope.limited, p_work.has_suspects, p_scope.low_priority, p_scope.low_position,
        p_scope.low_id, p_picked.at) p;
    -- What is taken now begins after the end of whatever has freed its slots.
    p_picked.at := kinfolk.clock();
    if p_scope.fair is not null and not p_picked.more then
        select p_picked.ids || p.ids, p_picked.tops || p.tops, p_picked.starts_unique or p.starts_unique, p.more,
            p.left_out or p_picked.left_out
        into p_picked.ids, p_picked.tops, p_picked.starts_unique, p_picked.more, p_picked.left_out
        from kinfolk.pick_turns(p_call.worker_id, p_scope.queue_id, p_scope.commands, p_call.most, p_lanes, p_rooms,
            p_picked.ids, p_picked.at) p;
    end if;
    return p_picked;
end
$$;
