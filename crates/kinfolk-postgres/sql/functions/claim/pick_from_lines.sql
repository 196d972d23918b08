-- Locks the tasks that a claim is to take, and says whether any of them starts under a unique key, which of them stood in
-- the lane `top`, and whether more would have been taken if there were more behind the cursors.
--
-- `p_lanes`: the lanes to look at, each with the room it has in `p_rooms`; other lanes are not read at all. A line is one
-- command in one lane. If one line has open tasks, its head is read and locked. If several have, their heads are merged: first,
-- unlocked, how many each of them has among the foremost for which there is room; then that many are locked of each. A
-- line that gave fewer than that has no more to give (the others are locked by other claims); the rest is made up from
-- the other lines.
--
-- `p_low_*`: for each command in the lane `top`, then for each in the lane `child`, the position behind which to look.
-- The lane `root` is always read from its head: it is short, and tasks that come back to it are before all cursors.

create or replace function kinfolk.pick_from_lines(
    p_queue integer, p_commands text[], p_limit integer, p_lanes kinfolk.lane[], p_rooms integer[],
    p_low_priority integer[], p_low_position timestamptz[], p_low_id bigint[],
    out ids bigint[], out tops bigint[], out starts_unique boolean, out short boolean
)
language plpgsql volatile
as $$
declare
    v_lines kinfolk.merged_lines := kinfolk.find_lines(p_queue, p_commands, p_lanes, p_low_priority, p_low_position, p_low_id);
    v_left integer := p_limit;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_depth integer := least(p_limit, greatest(16, 2 * p_limit / greatest(cardinality(v_lines.commands), 1)));
    v_is_last boolean;
    v_pass record;
begin
    ids := '{}';
    tops := '{}';
    starts_unique := false;
    short := false;
    while v_left > 0 and cardinality(v_lines.commands) > 0 loop
        v_is_last := cardinality(v_lines.commands) = 1;
        if v_is_last then
            v_lines.quotas := array[least(v_left, case v_lines.lanes[1] when 'top' then v_top_room when 'child' then v_child_room end)];
        else
            v_lines := kinfolk.merge_lines(p_queue, v_lines, v_left, v_top_room, v_child_room, v_depth);
            exit when v_lines.commands is null;
        end if;
        v_pass := kinfolk.lock_heads(p_queue, v_lines);
        if v_pass.many > 0 then
            ids := ids || v_pass.ids;
            tops := tops || v_pass.tops;
            starts_unique := starts_unique or v_pass.starts_unique;
            v_left := v_left - v_pass.many;
            v_top_room := v_top_room - cardinality(v_pass.tops);
            v_child_room := v_child_room - v_pass.children;
        end if;
        exit when v_left <= 0 or v_is_last;
        v_lines := kinfolk.lines_behind(v_lines, v_pass.ids, v_top_room > 0, v_child_room > 0);
        v_depth := least(v_depth * 2, p_limit);
    end loop;
    if v_left > 0 and p_low_id <> '{}' then
        -- A lane that is full has nothing to give before its cursors either.
        short := (v_top_room > 0 and exists (select from unnest(p_low_id[:cardinality(p_commands)]) i where i is not null))
            or (v_child_room > 0
                and exists (select from unnest(p_low_id[cardinality(p_commands) + 1:]) i where i is not null));
    end if;
end
$$;
