-- A planted bug, for the walker to find: whether the last child has ended is decided by looking at the children, before the
-- fan-out's lock is taken. Two last children that end at once each see the other one open.

create or replace function kinfolk.ended(
    p_fan_outs bigint[], p_nths integer[], p_states kinfolk.state[], p_after boolean[], p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_over boolean;
begin
    v_over := not exists (
        select
        from kinfolk.task c
        where c.fan_out_id = any (p_fan_outs)
            and c.state < 'completed');
    perform kinfolk.point('ended.counting');
    update kinfolk.fan_out f
    set completed = f.completed + 1
    where f.id = any (p_fan_outs);
    perform kinfolk.point('ended.counted');
    if v_over then
        perform kinfolk.settle_owners(p_fan_outs);
    end if;
end
$$;
