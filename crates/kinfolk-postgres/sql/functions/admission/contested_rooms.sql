-- The rooms of the keys that candidates need, where not all candidates of a key may start; with `p_all` the rooms of all keys. `p_overfull`:
-- look only at keys of these numbers (null: at all). `p_has_edges`: candidates end where one does not take its room.
--
-- The caller has the admission locks. Reads pages, settings and spent rates (`key_rooms`). Runs under the settings of the claim.
create or replace function kinfolk.contested_rooms(
    p_needs kinfolk.claim_needs, p_overfull bigint[], p_all boolean, p_has_edges boolean, p_now timestamptz
) returns kinfolk.claim_rooms
language plpgsql stable
as $$
declare
    v_rooms kinfolk.claim_rooms;
begin
    with listed as materialized (
        select array_agg(a.group_id) as groups, array_agg(a.key) as keys, array_agg(a.many) as many, array_agg(a.takers) as takers
        from (
            select n.group_id, n.key, count(*) as many, count(*) filter (where n.takes) as takers
            from unnest(p_needs.groups, p_needs.keys, p_needs.takes) as n(group_id, key, takes)
            where p_overfull is null
                or kinfolk.key_number(n.group_id, n.key) = any (p_overfull)
            group by n.group_id, n.key
        ) a
    ),
    room as materialized (
        select r.group_id, r.key, r.free, r.starts, case when r.keeps then r.kept_for end as kept_for, r.interval_us is not null as is_rated,
            p_all or coalesce(r.free < l.takers[r.nth], false) or coalesce(r.starts < l.many[r.nth], false)
                or r.kept_for is not null or (p_has_edges and l.takers[r.nth] < l.many[r.nth]) as is_contested
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
    )
    select array_agg(r.group_id) filter (where r.is_contested), array_agg(r.key) filter (where r.is_contested),
        array_agg(coalesce(r.free, 2147483647)) filter (where r.is_contested),
        array_agg(coalesce(r.starts, 2147483647)) filter (where r.is_contested),
        array_agg(coalesce(r.kept_for, 0)) filter (where r.is_contested), coalesce(bool_or(r.is_rated), false)
    into v_rooms.groups, v_rooms.keys, v_rooms.free, v_rooms.starts, v_rooms.kept, v_rooms.is_rated
    from room r;
    return v_rooms;
end
$$;
