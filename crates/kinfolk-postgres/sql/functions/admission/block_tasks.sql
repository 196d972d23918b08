-- Blocks tasks, which the caller has locked, each behind the key of the room given for it: its gate becomes `limit`, and the try is
-- counted. Runs under the settings of the claim.
create or replace function kinfolk.block_tasks(p_tasks bigint[], p_behind integer[], p_rooms kinfolk.claim_rooms) returns void
language plpgsql volatile
as $$
declare
    v_keys text[] := p_rooms.keys;
begin
    -- So that its elements are found at once: texts in an array are counted off from its first one, unless it was written to.
    v_keys[1] := v_keys[1];
    update kinfolk.task t
    set
        gate = 'limit',
        blocked_group = p_rooms.groups[g.room],
        blocked_key = v_keys[g.room],
        failed_tries = least(t.failed_tries + 1, 32767)
    from unnest(p_tasks, p_behind) as g(id, room)
    where t.id = g.id;
end
$$;
