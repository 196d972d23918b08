-- Makes siblings of a task, the first `p_to` of the made tasks: children of its parent, appended to the parent's fan-out,
-- which is locked here.
create or replace function kinfolk.make_siblings(p_maker kinfolk.maker, p_to integer, p_made kinfolk.made) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fan_out record;
    v_made integer;
begin
    select f.root_id, f.depth, f.total, f.child_order <> 'together' as is_in_order,
        (select t.priority from kinfolk.task t where t.id = p_maker.parent_id) as priority
    into v_fan_out
    from kinfolk.fan_out f
    where f.id = p_maker.fan_out_id
    for update;
    -- They are made as if by the parent.
    p_maker.task_id := p_maker.parent_id;
    p_maker.root_id := v_fan_out.root_id;
    p_maker.depth := v_fan_out.depth;
    p_maker.priority := v_fan_out.priority;
    v_made := kinfolk.make_children(p_maker, p_maker.fan_out_id, v_fan_out.total,
        case when v_fan_out.is_in_order then v_fan_out.total end, 1, p_to, p_made);
    update kinfolk.fan_out f
    set
        total = f.total + v_made,
        held = f.held + case when v_fan_out.is_in_order then v_made else 0 end
    where f.id = p_maker.fan_out_id;
end
$$;
