-- The lines from which a claim takes candidates, in lanes with room: open tasks and suspects of its commands, and tasks behind ready
-- keys with room. Behind a ready key hardly more rows are read (`p_slack`) than it has room for.
--
-- Locks nothing. Reads the pages of these keys (`key_rooms`). Runs under the settings of the claim.
create or replace function kinfolk.claim_lines(
    p_scope kinfolk.claim_scope, p_admission kinfolk.claim_admission, p_ready kinfolk.claim_ready, p_lanes kinfolk.lane[],
    p_behind kinfolk.stand, p_depth integer, p_slack integer, p_now timestamptz
) returns kinfolk.claim_line[]
language plpgsql stable
as $$
declare
    v_lines kinfolk.claim_line[];
begin
    p_lanes := array(
        select l.lane
        from unnest(p_lanes) as l(lane)
        where case l.lane when 'top' then p_admission.top_room > 0 when 'child' then p_admission.child_room > 0 else true end);
    v_lines := array(
        select row(c.id, l.lane, s.suspect, null, null, p_depth,
            case when b.is_low then g.priority else p_behind.priority end,
            case when b.is_low then g.position else p_behind.position end,
            case when b.is_low then g.id else p_behind.id end)::kinfolk.claim_line
        from unnest(p_lanes) as l(lane)
        cross join lateral kinfolk.cursors_of_lane(p_scope.commands, l.lane, p_scope.low_priority, p_scope.low_position, p_scope.low_id) g
        join kinfolk.command c on c.name = g.name
        cross join (values (false), (true)) as s(suspect)
        cross join lateral (
            select not s.suspect and (g.priority, g.position, g.id) > (p_behind.priority, p_behind.position, p_behind.id) as is_low
        ) b
        where p_admission.may_suspect
            or not s.suspect);
    if p_ready.keys is null then
        return v_lines;
    end if;
    return v_lines || array(
        select row(c.id, l.lane, false, r.group_id, r.key, least(r.room + p_slack, p_depth), p_behind.priority, p_behind.position,
            p_behind.id)::kinfolk.claim_line
        from (
            select array_agg(k.group_id) as groups, array_agg(k.key) as keys, jsonb_agg(k.commands) as commands
            from (
                select m.group_id, m.key, array_agg(m.command_id) as commands
                from unnest(p_ready.groups, p_ready.keys, p_ready.commands) as m(group_id, key, command_id)
                group by m.group_id, m.key
            ) k
        ) k
        cross join lateral kinfolk.key_rooms(k.groups, k.keys, p_now) r
        cross join lateral (
            select c.id::integer as id
            from jsonb_array_elements_text(k.commands -> (r.nth - 1)::integer) as c(id)
        ) c
        cross join unnest(p_lanes) as l(lane)
        where r.room > 0);
end
$$;
