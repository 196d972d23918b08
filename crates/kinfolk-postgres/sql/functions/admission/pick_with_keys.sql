-- Locks the tasks of a claim and takes their slots, for commands with groups; `pick` and `pick_suspect` do it for other
-- commands. In the order of the claim each candidate takes a slot of all its keys, or is blocked behind its first full key
-- (`kinfolk_core::admit`). Candidates are the open tasks, and the tasks behind ready keys.
--
-- `more`: the claim has blocked so many that it ends here, and there may be more behind them. `left_out`: another call had
-- locked a needed row. `p_beside`: there may be open tasks in other lanes than `top`. `short`: there may be more before the
-- cursors of the caller (`p_low_*`, as in `pick`).
--
-- The caller has the admission locks of all groups of these commands. Locks tasks, never waiting. Reads `task_ready`,
-- `task_suspect` and `task_blocked`, each line only as far as the order of all of them is known. Reads in pages: the first is
-- as large as the claim, and the more candidates are blocked, the larger the next. So blocking many costs few pages.

create or replace function kinfolk.pick_with_keys(
    p_worker uuid, p_queue integer, p_commands text[], p_groups integer[], p_limit integer, p_lanes kinfolk.lane[],
    p_rooms integer[], p_beside boolean, p_limited boolean, p_suspects boolean, p_low_priority integer[],
    p_low_position timestamptz[], p_low_id bigint[], p_now timestamptz,
    out ids bigint[], out tops bigint[], out starts_unique boolean, out short boolean, out more boolean, out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_left integer := p_limit;
    v_size integer := p_limit;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_commands integer[];
    v_ready record;
    v_has_ready boolean;
    v_reserved boolean;
    v_starved bigint[] := '{}';
    v_may_suspect boolean := false;
    v_blocked integer := 0;
    v_behind_groups integer[] := '{}';
    v_behind_keys text[] := '{}';
    v_priority integer := -2147483648;
    v_position timestamptz := '-infinity';
    v_id bigint := 0;
    v_slack integer := 8;
    v_heads record;
    v_page record;
begin
    ids := '{}';
    tops := '{}';
    starts_unique := false;
    more := false;
    left_out := false;
    if kinfolk.awaited_groups(p_groups) <> '{}' then
        perform kinfolk.add_ready_keys(p_queue, p_groups, p_now);
    end if;
    -- point: claim.ready_keys
    v_commands := array(select c.id from kinfolk.command c where c.name = any (p_commands));
    select m.commands, m.groups, m.keys, m.is_full, m.is_later
    into v_ready
    from kinfolk.next_ready_keys(p_worker, p_queue, v_commands) m;
    v_has_ready := v_ready.keys is not null;
    v_reserved := exists (select from kinfolk.reserved r where r.group_id = any (p_groups));
    if p_suspects or v_has_ready then
        v_may_suspect := kinfolk.may_run_suspect(p_worker);
    end if;

    if not (p_beside or v_has_ready or v_reserved) then
        p_lanes := '{top}';
    end if;
    if not (v_has_ready or v_reserved or p_suspects) and p_low_id = '{}'
        and (cardinality(v_commands) > 1 or p_groups = '{}')
    then
        if not kinfolk.has_open(p_queue, array(
            select c.name
            from kinfolk.command c
            where c.id = any (v_commands)
                and c.grouped))
        then
            -- Nothing here that groups are asked about; what has come since then must not go past them.
            select p.ids, p.tops, p.starts_unique, p.short
            into ids, tops, starts_unique, short
            from kinfolk.pick(p_queue, kinfolk.without_groups(p_commands), p_limit, p_lanes, p_rooms, '{}', '{}', '{}') p;
            return;
        end if;
        select array_agg(c.name), array_agg(c.id)
        into p_commands, v_commands
        from kinfolk.command c
        where c.id = any (v_commands)
            and kinfolk.has_open(p_queue, array[c.name]);
    end if;

    while v_left > 0 loop
        if v_has_ready or v_reserved or v_may_suspect or p_low_id <> '{}' or cardinality(p_lanes) > 1
            or cardinality(v_commands) > 1
        then
            select h.* into v_heads
            from kinfolk.line_up(p_queue, p_commands, p_groups, v_size, p_lanes, v_top_room, v_child_room,
                v_ready.commands, v_ready.groups, v_ready.keys, v_reserved, v_may_suspect, p_low_priority,
                p_low_position, p_low_id, v_priority, v_position, v_id,
                v_slack, p_now) h;
            v_slack := least(4 * v_slack, 10000);
        else
            -- One line: nothing to merge.
            with line as materialized (
                select t.id, t.command_id, t.keys, t.unique_held and t.runs = 0 as starts_unique
                from kinfolk.task t
                where t.queue_id = p_queue
                    and t.lane = p_lanes[1]
                    and t.command_id = v_commands[1]
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                    and (t.priority, t.position, t.id) > (v_priority, v_position, v_id)
                order by t.priority, t.position, t.id
                limit v_size
                for update skip locked
            )
            select array_agg(l.id) as ids, array_agg(l.command_id) as commands, array_agg(l.keys) as keys,
                null::integer[] as ranks, null::integer[] as edges,
                bool_or(l.starts_unique) as starts_unique, false as suspects, count(*) < v_size as is_last, false as left_out,
                null::bigint as last
            into v_heads
            from line l;
        end if;
        left_out := left_out or v_heads.left_out;
        if v_heads.ids is null then
            exit when v_heads.is_last or v_heads.last is null;
            -- All of them are in other hands: go on behind them.
            select t.priority, t.position, t.id
            into v_priority, v_position, v_id
            from kinfolk.task t
            where t.id = v_heads.last;
            v_size := kinfolk.next_size(v_size, v_left, 0);
            continue;
        end if;
        -- point: claim.lined_up
        select a.* into v_page
        from kinfolk.admit_page(v_heads.ids, v_heads.commands, v_heads.keys, v_heads.ranks, v_heads.edges, v_top_room,
            v_child_room, v_may_suspect, v_left, p_limited or v_heads.suspects, p_now) a;
        ids := ids || v_page.taken;
        tops := tops || v_page.tops;
        starts_unique := starts_unique or v_heads.starts_unique;
        v_left := v_left - cardinality(v_page.taken);
        v_top_room := v_top_room - cardinality(v_page.tops);
        v_child_room := v_child_room - v_page.children;
        v_may_suspect := v_may_suspect and not v_page.suspect;
        v_blocked := v_blocked + cardinality(v_page.behind_groups);
        v_behind_groups := v_behind_groups || v_page.behind_groups;
        v_behind_keys := v_behind_keys || v_page.behind_keys;
        v_starved := v_starved || v_page.starved;
        exit when v_heads.is_last and v_page.is_whole;
        if v_blocked >= 2 * kinfolk.claim_batch_max() then
            more := true;
            exit;
        end if;
        select t.priority, t.position, t.id
        into v_priority, v_position, v_id
        from kinfolk.task t
        where t.id = v_page.last;
        v_size := kinfolk.next_size(v_size, v_left, cardinality(v_page.taken));
    end loop;
    perform kinfolk.reserve(b) from unnest(v_starved) b;
    if v_has_ready or v_blocked > 0 then
        perform kinfolk.update_ready_keys(p_queue, v_commands, v_ready.groups || v_behind_groups, v_ready.keys || v_behind_keys, p_now);
    end if;
    if v_ready.is_full or v_ready.is_later then
        -- Whoever has use for more looks at the next ones; who has not begins again with the first.
        v_ready.is_full := v_ready.is_full and v_left > 0 and not more;
        more := kinfolk.go_on_behind(p_worker, p_queue, case when v_ready.is_full then v_ready.commands end, v_ready.groups,
                v_ready.keys)
                and v_ready.is_full
            or more;
    end if;
    short := v_left > 0 and p_low_id <> '{}';
end
$$;
