-- Asks for the end of all open tasks below these fan-outs, whose families the caller has locked whole. Counts those that have ended
-- with that. Locks what `cancel_members` and `ended` lock.
create or replace function kinfolk.cancel_below(p_fan_outs bigint[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone record;
begin
    select c.fan_outs, c.children, c.was_after
    into v_gone
    from kinfolk.cancel_members(kinfolk.members_below(p_fan_outs), p_now) c;
    if v_gone.fan_outs is not null then
        perform kinfolk.ended(v_gone.fan_outs, v_gone.children,
            array_fill('cancelled'::kinfolk.state, array[cardinality(v_gone.fan_outs)]), v_gone.was_after, p_now);
    end if;
end
$$;
