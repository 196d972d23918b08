-- Makes children of a task in the fan-out of the task's own number, and returns how many were made. The fan-out may exist
-- from an earlier suspension. Later children queue behind earlier ones, and the last given order counts for the fan-out from
-- then on. Locks the fan-out, if it exists.
create or replace function kinfolk.make_spawned(
    p_maker kinfolk.maker, p_order kinfolk.child_order, p_waits boolean, p_from integer, p_to integer, p_made kinfolk.made
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_old record;
    v_first integer;
    v_held_from integer;
    v_made integer;
begin
    select f.total, f.completed + f.failed + f.cancelled < f.total as is_open, f.held
    into v_old
    from kinfolk.fan_out f
    where f.id = p_maker.task_id
    for update;
    v_first := coalesce(v_old.total, 0);
    if p_order <> 'together' then
        v_held_from := v_first + case when v_old.is_open then 0 else 1 end;
    end if;
    v_made := kinfolk.make_children(p_maker, p_maker.task_id, v_first, v_held_from, p_from, p_to, p_made);
    if v_made = 0 then
        return 0;
    end if;
    if v_old.held > 0 and p_order = 'together' then
        perform kinfolk.open_held(p_maker.task_id, p_maker.now);
    end if;
    insert into kinfolk.fan_out as f (id, task_id, root_id, depth, child_order, waits, total, held)
    values (p_maker.task_id, p_maker.task_id, p_maker.root_id, p_maker.depth, p_order, p_waits, v_made,
        greatest(v_first + v_made - v_held_from, 0))
    on conflict (id) do update set
        child_order = excluded.child_order,
        total = f.total + excluded.total,
        held = f.held + excluded.held;
    return v_made;
end
$$;
