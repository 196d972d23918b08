-- Makes the children with unique keys among the made tasks, one after another. Returns the `nth` of each child, null for a
-- child whose key another task holds: it is not made. The parameters are those of `make_children`. Locks no existing row.

create or replace function kinfolk.make_unique_children(
    p_maker kinfolk.maker, p_fan_out bigint, p_first integer, p_held_from integer, p_from integer, p_to integer,
    p_made kinfolk.made
) returns integer[]
language plpgsql volatile
as $$
declare
    v_nths integer[] := array_fill(null::integer, array[p_to - p_from + 1]);
    v_next integer := p_first;
    v_outcome text;
    v_one record;
begin
    for v_one in
        select m.nth, m.task, (m.task).unique_key is not null as is_unique
        from kinfolk.made_tasks(p_maker, p_made, p_from, p_to) m
    loop
        if v_one.is_unique then
            select k.outcome into v_outcome from kinfolk.enqueue_unique(v_one.task, p_maker.now) k;
            continue when v_outcome <> 'created';
        end if;
        v_nths[v_one.nth] := v_next;
        v_next := v_next + 1;
    end loop;
    update kinfolk.task t
    set
        gate = case when g.nth >= p_held_from then 'after'::kinfolk.gate else t.gate end,
        position = p_maker.position,
        parent_id = p_maker.task_id,
        root_id = p_maker.root_id,
        fan_out_id = p_fan_out,
        nth = g.nth,
        depth = p_maker.depth + 1,
        lane = 'child'
    from unnest(p_made.ids[p_from:p_to], v_nths, p_made.keys[p_from:p_to]) as g(id, nth, key)
    where t.id = g.id
        and g.key is not null
        and g.nth is not null;
    return v_nths;
end
$$;
