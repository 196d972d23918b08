-- The part of `pick_tasks` for commands that have groups, and for queues with a fair key: takes the slots of the tasks it locks.
-- `p_picked`: the claim so far. See `pick_with_keys` and `pick_turns`.

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
    p_scope.groups := coalesce(p_scope.groups, '{}');
    p_picked := kinfolk.pick_with_keys(p_call, p_scope, p_work, p_picked, p_lanes, p_rooms);
    -- A task starts after the end of the task that has freed its slots.
    p_picked.at := kinfolk.clock();
    if p_scope.fair is not null and not p_picked.more then
        p_picked := kinfolk.pick_turns(p_call, p_scope, p_picked, p_lanes, p_rooms);
    end if;
    return p_picked;
end
$$;
