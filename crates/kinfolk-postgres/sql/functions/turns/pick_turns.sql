-- Locks the tasks of a claim on a queue with a fair key, and takes their slots. Inside a priority the values of the fair key
-- take turns, so a value with many tasks does not hold up a value with few.
--
-- The open tasks of such a queue are sorted in by their values (`sort_in`): their gate is `turn`. Each line is a range of
-- `task_turn`. These tasks are shown as open. Claims on such a queue run one after another, by the queue's admission lock.
--
-- Takes one task of each value, beginning after the queue's last turn, then the second of each. A task that is blocked behind
-- a full key has had its turn. A lane without room is not read. Suspects are not read while the worker may take none, and
-- cost their value no turn. Tasks that other calls have locked are skipped.
-- `p_picked`: the tasks that this claim has already stay. Pages grow as in `admit_pages`.
--
-- The caller has the admission locks. Locks the worker's row where there are suspects, then tasks, never waiting, then writes the queue.
-- Reads `task_turn`. Runs under the settings of the claim.
create or replace function kinfolk.pick_turns(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_picked kinfolk.claim_picked, p_lanes kinfolk.lane[], p_rooms integer[]
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
declare
    v_commands integer[] := array(select c.id from kinfolk.command c where c.name = any (p_scope.commands));
    v_so_far kinfolk.claim_admission := kinfolk.begin_admission(p_call.most - cardinality(p_picked.ids), p_lanes, p_rooms, false);
    v_size integer := v_so_far.most;
    v_turn text := (select q.turn from kinfolk.queue q where q.id = p_scope.queue_id);
    v_seek text := v_turn;
    v_last text := v_turn;
    v_skipped bigint[] := p_picked.ids;
    v_had kinfolk.claim_admission;
    v_page kinfolk.claim_page;
begin
    select v_so_far.top_room - count(*) filter (where t.lane = 'top'), v_so_far.child_room - count(*) filter (where t.lane = 'child')
    into v_so_far.top_room, v_so_far.child_room
    from unnest(p_picked.ids) as g(id)
    join kinfolk.task t on t.id = g.id;
    v_so_far.may_suspect := v_so_far.most > 0
        and kinfolk.may_take_suspect(p_call.worker_id, p_scope.queue_id, v_commands, p_lanes, p_picked.ids);
    while v_so_far.most > 0 loop
        v_page := kinfolk.next_turns(p_scope.queue_id, kinfolk.open_lines(v_commands, p_lanes, v_so_far), v_size,
            nullif(least(v_so_far.top_room, v_so_far.most), v_so_far.most),
            nullif(least(v_so_far.child_room, v_so_far.most), v_so_far.most), v_skipped || v_so_far.ids, v_seek);
        v_so_far.left_out := v_so_far.left_out or v_page.left_out;
        v_skipped := v_skipped || v_page.skipped;
        v_had := v_so_far;
        if v_page.ids is null then
            exit when v_page.skipped = '{}';
        else
            v_seek := v_page.turns[cardinality(v_page.turns)];
            v_so_far := kinfolk.admit_page(v_so_far, v_page, true, p_picked.at);
            if v_so_far.most < v_had.most then
                v_last := v_page.turns[array_position(v_page.ids, v_so_far.ids[cardinality(v_so_far.ids)])];
            end if;
            exit when v_so_far.most = v_had.most and v_so_far.behind_groups = v_had.behind_groups;
            v_so_far.more := cardinality(v_so_far.behind_groups) >= 2 * kinfolk.claim_batch_max();
            exit when v_so_far.more;
        end if;
        v_size := kinfolk.next_size(v_size, v_so_far.most, v_had.most - v_so_far.most);
    end loop;
    perform kinfolk.end_admission(p_scope.queue_id, v_commands, v_so_far, null, p_picked.at);
    if v_last is distinct from v_turn then
        update kinfolk.queue q set turn = v_last where q.id = p_scope.queue_id;
    end if;
    return row(p_picked.ids || v_so_far.ids, p_picked.tops || v_so_far.tops, p_picked.starts_unique or v_so_far.starts_unique,
        p_picked.short, v_so_far.more, v_so_far.left_out or p_picked.left_out, p_picked.at, null)::kinfolk.claim_picked;
end
$$;
