-- The admission of a claim that has decided nothing yet: it may start this many, in lanes with these rooms.
create or replace function kinfolk.begin_admission(
    p_most integer, p_lanes kinfolk.lane[], p_rooms integer[], p_may_suspect boolean
) returns kinfolk.claim_admission
language plpgsql immutable
as $$
begin
    return row('{}', '{}', false, false, false, p_most, coalesce(p_rooms[array_position(p_lanes, 'top')], 0),
        coalesce(p_rooms[array_position(p_lanes, 'child')], 0), p_may_suspect, '{}', '{}', '{}', null, null)::kinfolk.claim_admission;
end
$$;
