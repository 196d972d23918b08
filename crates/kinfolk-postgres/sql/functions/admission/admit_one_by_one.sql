-- The part of `admit_page` that decides candidate by candidate: over all of them (`p_all`), or over the candidates that need one of
-- the given rooms, while the others start. A candidate that does not take the room its line was read for ends the page at its edge.
-- Rooms of lanes, and how many may start, count only where it decides over all.
--
-- The caller has the admission locks, and has locked the candidates. Reads them by their numbers. Writes the blocked tasks,
-- and what `start_taken` writes. Runs under the settings of the claim.
create or replace function kinfolk.admit_one_by_one(
    p_admission kinfolk.claim_admission, p_page kinfolk.claim_page, p_needs kinfolk.claim_needs, p_rooms kinfolk.claim_rooms,
    p_all boolean, p_now timestamptz
) returns kinfolk.claim_admission
language plpgsql volatile
as $$
declare
    v_need record;
    v_task record;
    v_free bigint[] := p_rooms.free;
    v_starts bigint[] := p_rooms.starts;
    v_kept bigint[] := p_rooms.kept;
    v_keys text[] := p_rooms.keys;
    v_ranks integer[] := coalesce(p_page.ranks, array(select generate_series(1, cardinality(p_page.ids))));
    v_is_taken boolean[] := array_fill(not p_all, array[cardinality(p_page.ids)]);
    v_cut integer := 2147483647;
    v_left integer := p_admission.most;
    v_at integer := 1;
    v_from integer;
    v_room integer;
    v_keeps integer;
    v_full integer;
    v_behind integer[] := '{}';
    v_blocked bigint[] := '{}';
    v_blocked_behind integer[] := '{}';
begin
    select n.candidates, n.rooms, n.takes into v_need from kinfolk.needs_of(p_needs, p_rooms) n;
    -- So that its elements are found at once: texts in an array are counted off from its first one, unless it was written to.
    v_keys[1] := v_keys[1];
    for v_task in
        select g.nth, t.id, t.lane, t.suspect, t.failed_tries, t.blocked_group, t.blocked_key
        from (select generate_series(1, cardinality(p_page.ids)) where p_all union select unnest(v_need.candidates)) as g(nth)
        cross join lateral (select t.* from kinfolk.task t where t.id = p_page.ids[g.nth] offset 0) t
        order by g.nth
    loop
        exit when v_ranks[v_task.nth] > v_cut;
        v_is_taken[v_task.nth] := false;
        v_from := v_at;
        v_full := 0;
        while v_need.candidates[v_at] = v_task.nth loop
            v_room := v_need.rooms[v_at];
            v_keeps := case when v_kept[v_room] in (0, v_task.id) then 0 else 1 end;
            if v_full = 0 and ((v_need.takes[v_at] and v_free[v_room] <= v_keeps) or v_starts[v_room] <= v_keeps) then
                v_full := v_room;
            end if;
            v_at := v_at + 1;
        end loop;
        if v_task.suspect and not p_admission.may_suspect then
            v_cut := least(v_cut, p_page.edges[v_task.nth]);
            continue;
        elsif (v_task.lane = 'top' and p_admission.top_room <= 0) or (v_task.lane = 'child' and p_admission.child_room <= 0) then
            continue;
        elsif v_full > 0 then
            v_behind := v_behind || v_full;
            -- One that stays where it was has not been sent from one key to the next, and so do all behind it in that line.
            continue when v_task.blocked_group = p_rooms.groups[v_full] and v_task.blocked_key = v_keys[v_full];
            v_cut := least(v_cut, p_page.edges[v_task.nth]);
            v_blocked := v_blocked || v_task.id;
            v_blocked_behind := v_blocked_behind || v_full;
            if v_task.failed_tries + 1 >= kinfolk.failed_tries_max() then
                p_admission.starved := p_admission.starved || v_task.id;
            end if;
            continue;
        end if;
        for n in v_from..v_at - 1 loop
            v_room := v_need.rooms[n];
            v_starts[v_room] := v_starts[v_room] - 1;
            if v_need.takes[n] then
                v_free[v_room] := v_free[v_room] - 1;
            else
                v_cut := least(v_cut, p_page.edges[v_task.nth]);
            end if;
            if v_kept[v_room] = v_task.id then
                v_kept[v_room] := 0;
            end if;
        end loop;
        v_is_taken[v_task.nth] := true;
        v_left := v_left - 1;
        if v_left = 0 then
            v_cut := least(v_cut, v_ranks[v_task.nth]);
        end if;
        if v_task.lane = 'top' then
            p_admission.tops := p_admission.tops || v_task.id;
            p_admission.top_room := p_admission.top_room - 1;
        elsif v_task.lane = 'child' then
            p_admission.child_room := p_admission.child_room - 1;
        end if;
        p_admission.may_suspect := p_admission.may_suspect and not v_task.suspect;
    end loop;
    p_admission.behind_groups := p_admission.behind_groups || array(select p_rooms.groups[b] from unnest(v_behind) b);
    p_admission.behind_keys := p_admission.behind_keys || array(select v_keys[b] from unnest(v_behind) b);
    p_admission := kinfolk.start_taken(p_admission, p_page, p_needs, p_rooms.is_rated, v_ranks, v_is_taken, v_cut, p_now);
    if v_blocked <> '{}' then
        perform kinfolk.block_tasks(v_blocked, v_blocked_behind, p_rooms);
    end if;
    -- point: claim.blocked
    return p_admission;
end
$$;
