-- Which of the given rooms the candidates need, ordered by candidate and group. One pass over all needs: there may be
-- thousands.
create or replace function kinfolk.needs_of(
    p_needs kinfolk.claim_needs, p_rooms kinfolk.claim_rooms, out candidates integer[], out rooms integer[], out takes boolean[]
)
language plpgsql stable
set enable_hashjoin = on
set enable_nestloop = off
as $$
begin
    select array_agg(n.candidate order by n.candidate, n.group_id), array_agg(r.room::integer order by n.candidate, n.group_id),
        array_agg(n.takes order by n.candidate, n.group_id)
    into candidates, rooms, takes
    from unnest(p_needs.candidates, p_needs.groups, p_needs.keys, p_needs.takes) as n(candidate, group_id, key, takes)
    join unnest(p_rooms.groups, p_rooms.keys) with ordinality as r(group_id, key, room) on r.group_id = n.group_id and r.key = n.key;
end
$$;
