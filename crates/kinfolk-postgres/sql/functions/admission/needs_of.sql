-- Which of the given rooms the candidates need, ordered by candidate and group. One pass over all needs: there may be
-- thousands.
create or replace function kinfolk.needs_of(
    p_candidates integer[], p_need_groups integer[], p_need_keys text[], p_takes boolean[], p_groups integer[], p_keys text[],
    out candidates integer[], out rooms integer[], out takes boolean[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
set enable_nestloop = off
as $$
begin
    select array_agg(n.candidate order by n.candidate, n.group_id), array_agg(r.room::integer order by n.candidate, n.group_id),
        array_agg(n.takes order by n.candidate, n.group_id)
    into candidates, rooms, takes
    from unnest(p_candidates, p_need_groups, p_need_keys, p_takes) as n(candidate, group_id, key, takes)
    join unnest(p_groups, p_keys) with ordinality as r(group_id, key, room) on r.group_id = n.group_id and r.key = n.key;
end
$$;
