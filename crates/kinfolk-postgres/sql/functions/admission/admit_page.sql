-- Decides over candidates of a claim, which the caller has locked, in the order given. A candidate whose keys all have room
-- takes one slot of each, and one start where there is a rate. Any other candidate is blocked behind its first full key, by
-- group number. This is `kinfolk_core::admit::admit`. Where every key has room for all its candidates, one statement decides.
-- Otherwise the rooms of the contested keys are counted down, one candidate after another.
--
-- `p_ranks`, `p_edges`: from `line_up`; a candidate that does not take the room its line was read for ends the page at its
-- edge. `p_most`: how many may start; the page ends with the last of them. `p_one_by_one`: rooms of lanes, or the rule for
-- suspects, may keep a candidate back. `last`: the last candidate that was decided; `is_whole`: it is the last of all.
-- `behind_*`: the keys behind which candidates were blocked. `starved`: candidates with too many failed tries.
--
-- The caller has the admission locks. Reads and writes the pages of `slot_holder`.

create or replace function kinfolk.admit_page(
    p_ids bigint[], p_commands integer[], p_keys jsonb[], p_ranks integer[], p_edges integer[], p_top_room integer,
    p_child_room integer, p_may_suspect boolean, p_most integer, p_one_by_one boolean, p_now timestamptz,
    out taken bigint[], out tops bigint[], out children integer, out suspect boolean, out behind_groups integer[],
    out behind_keys text[], out starved bigint[], out last bigint, out is_whole boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_need record;
    v_overfull bigint[];
    v_rooms record;
begin
    with declared as materialized (
        select d.* from kinfolk.declarations(p_commands) d
    ),
    need as materialized (
        select g.nth, g.id, d.group_id, coalesce(g.keys ->> d.name, '') as key, d.is_plain,
            not (d.hold and kinfolk.holds_slot(g.id, d.group_id, coalesce(g.keys ->> d.name, ''))) as takes
        from unnest(p_ids, p_commands, p_keys) with ordinality as g(id, command_id, keys, nth)
        join declared d on d.command_id = g.command_id
        where d.name = 'total'
            or g.keys ? d.name
    )
    select array_agg(n.nth::integer) as candidates, array_agg(n.id) as tasks, array_agg(n.group_id) as groups,
        array_agg(n.key) as keys, array_agg(n.takes) as takes, bool_and(n.is_plain) as all_plain
    into v_need
    from need n;
    -- Not before the candidates are locked: how they ran before is over, and so is noted by now.
    perform kinfolk.add_ready_keys(0, array(select distinct g from unnest(v_need.groups) g), p_now);

    taken := p_ids;
    tops := '{}';
    children := 0;
    suspect := false;
    behind_groups := '{}';
    behind_keys := '{}';
    starved := '{}';
    last := p_ids[cardinality(p_ids)];
    is_whole := true;
    p_one_by_one := p_one_by_one or cardinality(p_ids) > p_most;
    if not p_one_by_one then
        if v_need.groups is null then
            return;
        elsif v_need.all_plain then
            v_overfull := (select s.overfull from kinfolk.take_slots(v_need.groups, v_need.keys, v_need.tasks, true) s);
            if v_overfull = '{}' then
                return;
            end if;
        end if;
    end if;

    with asked as (
        select n.group_id, n.key, count(*) as many, count(*) filter (where n.takes) as takers
        from unnest(v_need.groups, v_need.keys, v_need.takes) as n(group_id, key, takes)
        where v_overfull is null
            or kinfolk.key_number(n.group_id, n.key) = any (v_overfull)
        group by n.group_id, n.key
    ),
    listed as materialized (
        select array_agg(a.group_id) as groups, array_agg(a.key) as keys, array_agg(a.many) as many,
            array_agg(a.takers) as takers
        from asked a
    ),
    room as materialized (
        select r.group_id, r.key, r.free, r.starts, case when r.keeps then r.kept_for end as kept_for,
            r.interval_us is not null as is_rated,
            coalesce(r.free < l.takers[r.nth], false) or coalesce(r.starts < l.many[r.nth], false)
                or r.kept_for is not null or (p_edges is not null and l.takers[r.nth] < l.many[r.nth]) as is_contested
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
    )
    select coalesce(bool_or(r.is_rated), false) as is_rated, array_agg(r.group_id) filter (where p_one_by_one or r.is_contested) as groups,
        array_agg(r.key) filter (where p_one_by_one or r.is_contested) as keys,
        array_agg(coalesce(r.free, 2147483647)) filter (where p_one_by_one or r.is_contested) as free,
        array_agg(coalesce(r.starts, 2147483647)) filter (where p_one_by_one or r.is_contested) as starts,
        array_agg(coalesce(r.kept_for, 0)) filter (where p_one_by_one or r.is_contested) as kept
    into v_rooms
    from room r;

    if p_one_by_one or v_rooms.groups is not null then
        select o.*
        into taken, tops, children, suspect, behind_groups, behind_keys, starved, last, is_whole
        from kinfolk.admit_one_by_one(p_ids, coalesce(p_ranks, array(select generate_series(1, cardinality(p_ids)))),
            p_edges, p_top_room, p_child_room, p_may_suspect, p_most, p_one_by_one, v_rooms.groups, v_rooms.keys,
            v_rooms.free, v_rooms.starts, v_rooms.kept, v_need.candidates, v_need.groups, v_need.keys, v_need.takes, v_rooms.is_rated,
            p_now) o;
        return;
    end if;
    perform kinfolk.take_slots(array_agg(n.group_id), array_agg(n.key), array_agg(n.task_id), false)
    from unnest(v_need.groups, v_need.keys, v_need.tasks, v_need.takes) as n(group_id, key, task_id, takes)
    where n.takes;
    if v_rooms.is_rated then
        perform kinfolk.spend_starts(v_need.groups, v_need.keys, p_now);
    end if;
end
$$;
