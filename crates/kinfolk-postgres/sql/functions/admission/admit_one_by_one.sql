-- The part of `admit_page` that decides candidate by candidate: over all of them (`p_all`), or over the candidates that need
-- one of the given rooms, while the others start. `p_groups` to `p_kept` are rooms by key. `p_candidates` to `p_takes` are
-- the needs of the candidates. `tops`, `children` and `p_most` count only where it decides over all.
create or replace function kinfolk.admit_one_by_one(
    p_ids bigint[], p_ranks integer[], p_edges integer[], p_top_room integer, p_child_room integer,
    p_may_suspect boolean, p_most integer, p_all boolean, p_groups integer[], p_keys text[], p_free bigint[],
    p_starts bigint[], p_kept bigint[],
    p_candidates integer[], p_need_groups integer[], p_need_keys text[], p_takes boolean[], p_is_rated boolean,
    p_now timestamptz,
    out taken bigint[], out tops bigint[], out children integer, out suspect boolean, out behind_groups integer[],
    out behind_keys text[], out starved bigint[], out last bigint, out is_whole boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most smallint := kinfolk.failed_tries_max();
    v_these integer[];
    v_need record;
    v_lanes kinfolk.lane[];
    v_suspects boolean[];
    v_failed_tries smallint[];
    v_groups integer[];
    v_keys text[];
    v_cut integer := 2147483647;
    v_many integer := 0;
    v_nth integer;
    v_task bigint;
    v_from integer;
    v_at integer := 1;
    v_room integer;
    v_kept integer;
    v_full integer;
    v_is_taken boolean[] := array_fill(not p_all, array[cardinality(p_ids)]);
    v_blocked bigint[] := '{}';
    v_behind integer[] := '{}';
    v_blocked_behind integer[] := '{}';
begin
    tops := '{}';
    children := 0;
    suspect := false;
    starved := '{}';
    select n.candidates, n.rooms, n.takes
    into v_need
    from kinfolk.needs_of(p_candidates, p_need_groups, p_need_keys, p_takes, p_groups, p_keys) n;
    v_these := case when p_all then array(select generate_series(1, cardinality(p_ids)))
        else array(select distinct c from unnest(v_need.candidates) c order by c) end;
    select array_agg(t.lane order by g.nth), array_agg(t.suspect order by g.nth), array_agg(t.failed_tries order by g.nth),
        array_agg(coalesce(t.blocked_group, 0) order by g.nth), array_agg(coalesce(t.blocked_key, '') order by g.nth)
    into v_lanes, v_suspects, v_failed_tries, v_groups, v_keys
    from unnest(v_these) with ordinality as g(candidate, nth)
    cross join lateral (
        select t.lane, t.suspect, t.failed_tries, t.blocked_group, t.blocked_key
        from kinfolk.task t
        where t.id = p_ids[g.candidate]
        offset 0
    ) t;
    -- So that their elements are found at once: texts in an array are counted off from its first one, unless it was written to.
    p_keys[1] := p_keys[1];
    v_keys[1] := v_keys[1];
    for i in 1..cardinality(v_these) loop
        v_nth := v_these[i];
        exit when p_ranks[v_nth] > v_cut;
        v_task := p_ids[v_nth];
        v_is_taken[v_nth] := false;
        v_from := v_at;
        v_full := 0;
        while v_need.candidates[v_at] = v_nth loop
            if v_full = 0 then
                v_room := v_need.rooms[v_at];
                v_kept := case when p_kept[v_room] in (0, v_task) then 0 else 1 end;
                if (v_need.takes[v_at] and p_free[v_room] <= v_kept) or p_starts[v_room] <= v_kept then
                    v_full := v_room;
                end if;
            end if;
            v_at := v_at + 1;
        end loop;
        if v_suspects[i] and not p_may_suspect then
            v_cut := least(v_cut, p_edges[v_nth]);
            continue;
        elsif (v_lanes[i] = 'top' and p_top_room <= 0) or (v_lanes[i] = 'child' and p_child_room <= 0) then
            continue;
        elsif v_full > 0 then
            v_behind := v_behind || v_full;
            -- One that stays where it was has not been sent from one key to the next, and so do all behind it in that line.
            continue when v_groups[i] = p_groups[v_full] and v_keys[i] = p_keys[v_full];
            v_cut := least(v_cut, p_edges[v_nth]);
            v_blocked := v_blocked || v_task;
            v_blocked_behind := v_blocked_behind || v_full;
            if v_failed_tries[i] + 1 >= v_most then
                starved := starved || v_task;
            end if;
            continue;
        end if;
        for n in v_from..v_at - 1 loop
            v_room := v_need.rooms[n];
            p_starts[v_room] := p_starts[v_room] - 1;
            if v_need.takes[n] then
                p_free[v_room] := p_free[v_room] - 1;
            else
                v_cut := least(v_cut, p_edges[v_nth]);
            end if;
            if p_kept[v_room] = v_task then
                p_kept[v_room] := 0;
            end if;
        end loop;
        v_is_taken[v_nth] := true;
        v_many := v_many + 1;
        if v_many = p_most then
            v_cut := least(v_cut, p_ranks[v_nth]);
        end if;
        if v_lanes[i] = 'top' then
            tops := tops || v_task;
            p_top_room := p_top_room - 1;
        elsif v_lanes[i] = 'child' then
            children := children + 1;
            p_child_room := p_child_room - 1;
        end if;
        if v_suspects[i] then
            suspect := true;
            p_may_suspect := false;
        end if;
    end loop;
    select coalesce(array_agg(c.id order by c.nth) filter (where c.is_taken), '{}'), (array_agg(c.id order by c.nth desc))[1]
    into taken, last
    from unnest(p_ids, p_ranks, v_is_taken) with ordinality as c(id, rank, is_taken, nth)
    where c.rank <= v_cut;
    is_whole := last = p_ids[cardinality(p_ids)];

    perform kinfolk.take_slots(array_agg(n.group_id), array_agg(n.key), array_agg(p_ids[n.candidate]), false)
    from unnest(p_candidates, p_need_groups, p_need_keys, p_takes) as n(candidate, group_id, key, takes)
    where n.takes
        and v_is_taken[n.candidate]
        and p_ranks[n.candidate] <= v_cut;
    if p_is_rated then
        perform kinfolk.spend_starts(array_agg(n.group_id), array_agg(n.key), p_now)
        from unnest(p_candidates, p_need_groups, p_need_keys) as n(candidate, group_id, key)
        where v_is_taken[n.candidate]
            and p_ranks[n.candidate] <= v_cut;
    end if;
    select coalesce(array_agg(p_groups[b]), '{}'), coalesce(array_agg(p_keys[b]), '{}')
    into behind_groups, behind_keys
    from unnest(v_behind) b;
    if cardinality(v_blocked) > 0 then
        update kinfolk.task t
        set
            gate = 'limit',
            blocked_group = p_groups[g.room],
            blocked_key = p_keys[g.room],
            failed_tries = least(t.failed_tries + 1, 32767)
        from unnest(v_blocked, v_blocked_behind) as g(id, room)
        where t.id = g.id;
    end if;
    -- point: claim.blocked
    delete from kinfolk.reserved r
    where r.task_id = any (taken);
end
$$;
