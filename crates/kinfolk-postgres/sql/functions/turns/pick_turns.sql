-- Locks the tasks of a claim on a queue with a fair key, and takes their slots. Inside a priority the values of the fair key
-- take turns, so a value with many tasks does not hold up a value with few.
--
-- The open tasks of such a queue are moved behind their values: their gate is `limit`, `blocked_group` is the negative queue
-- number, `blocked_key` the value. Each line is a range of `task_turn`. These tasks are shown as open. Claims on such a queue
-- run one after another, by the queue's admission lock.
--
-- Takes one task of each value, beginning after the queue's last turn, then the second of each. A task that is blocked behind
-- a full key has had its turn. A lane without room is not read. Suspects are not read while the worker may take none, and
-- cost their value no turn. `p_taken`: tasks that this claim has already. Tasks that other calls have locked are skipped.
-- Pages grow as in `pick_with_keys`.
create or replace function kinfolk.pick_turns(
    p_worker uuid, p_queue integer, p_commands text[], p_limit integer, p_lanes kinfolk.lane[], p_rooms integer[],
    p_taken bigint[], p_now timestamptz,
    out ids bigint[], out tops bigint[], out starts_unique boolean, out more boolean, out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_left integer := p_limit - cardinality(p_taken);
    v_size integer := v_left;
    v_passed bigint[] := p_taken;
    v_turn text := (select q.turn from kinfolk.queue q where q.id = p_queue);
    v_seek text := v_turn;
    v_last text := v_turn;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_commands integer[] := array(select c.id from kinfolk.command c where c.name = any (p_commands));
    v_behind_groups integer[] := '{}';
    v_behind_keys text[] := '{}';
    v_starved bigint[] := '{}';
    v_may_suspect boolean;
    v_line record;
    v_page record;
begin
    ids := '{}';
    tops := '{}';
    starts_unique := false;
    more := false;
    left_out := false;
    select v_top_room - count(*) filter (where t.lane = 'top'), v_child_room - count(*) filter (where t.lane = 'child')
    into v_top_room, v_child_room
    from unnest(p_taken) as g(id)
    join kinfolk.task t on t.id = g.id;
    v_may_suspect := v_left > 0 and kinfolk.may_take_suspect(p_worker, p_queue, v_commands, p_lanes, p_taken);
    while v_left > 0 loop
        select l.* into v_line
        from kinfolk.next_turns(p_queue, kinfolk.open_lines(v_commands, p_lanes, v_top_room, v_child_room, v_may_suspect), v_size,
            nullif(least(v_top_room, v_left), v_left), nullif(least(v_child_room, v_left), v_left), v_passed, v_seek) l;
        left_out := left_out or v_line.left_out;
        v_passed := v_passed || v_line.passed;
        if v_line.ids is null then
            exit when v_line.passed = '{}';
            v_size := kinfolk.next_size(v_size, v_left, 0);
            continue;
        end if;
        v_seek := v_line.turns[cardinality(v_line.turns)];
        select a.* into v_page
        from kinfolk.admit_page(v_line.ids, v_line.commands, v_line.keys, null, null, v_top_room, v_child_room,
            v_may_suspect, v_left, true, p_now) a;
        ids := ids || v_page.taken;
        v_passed := v_passed || v_page.taken;
        tops := tops || v_page.tops;
        starts_unique := starts_unique or v_line.starts_unique;
        v_left := v_left - cardinality(v_page.taken);
        v_top_room := v_top_room - cardinality(v_page.tops);
        v_child_room := v_child_room - v_page.children;
        v_may_suspect := v_may_suspect and not v_page.suspect;
        v_behind_groups := v_behind_groups || v_page.behind_groups;
        v_behind_keys := v_behind_keys || v_page.behind_keys;
        v_starved := v_starved || v_page.starved;
        if v_page.taken <> '{}' then
            v_last := v_line.turns[array_position(v_line.ids, v_page.taken[cardinality(v_page.taken)])];
        end if;
        exit when v_page.taken = '{}' and v_page.behind_groups = '{}';
        if cardinality(v_behind_groups) >= 2 * kinfolk.claim_batch_max() then
            more := true;
            exit;
        end if;
        v_size := kinfolk.next_size(v_size, v_left, cardinality(v_page.taken));
    end loop;
    perform kinfolk.reserve(b) from unnest(v_starved) b;
    if v_behind_groups <> '{}' then
        perform kinfolk.update_ready_keys(p_queue, v_commands, v_behind_groups, v_behind_keys, p_now);
    end if;
    if v_last is distinct from v_turn then
        update kinfolk.queue q set turn = v_last where q.id = p_queue;
    end if;
end
$$;
