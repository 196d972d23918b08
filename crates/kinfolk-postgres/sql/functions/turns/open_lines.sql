-- The lines of these commands that a claim may still take from: lines of lanes with room, and lines of suspects where it may
-- take one.
create or replace function kinfolk.open_lines(p_commands integer[], p_lanes kinfolk.lane[], p_admission kinfolk.claim_admission)
returns kinfolk.line[]
language sql immutable
as $$
    select array(
        select row(c.id, l.lane, s.suspect)::kinfolk.line
        from unnest(p_commands) as c(id)
        cross join unnest(p_lanes) as l(lane)
        cross join (values (false), (true)) as s(suspect)
        where case l.lane when 'top' then p_admission.top_room > 0 when 'child' then p_admission.child_room > 0 else true end
            and (p_admission.may_suspect or not s.suspect))
$$;
