-- Splits a derivation into batches of about 1,000 enterprises; a closed group is never split. Answers how many there are. The
-- numbers of a batch stand close together, so it reads neighbouring pages.
-- Locks nothing. A derivation that was planned before and is tried again is planned anew.

create function register.plan_batches(p_cycle bigint) returns integer
language plpgsql
set jit = off
as $$
declare
    v_batches integer;
begin
    delete from register.derive_batch b where b.cycle = p_cycle;
    insert into register.derive_batch (cycle, batch, enterprise_ids)
    select p_cycle, n.batch, range_agg(int4range(n.enterprise_id, n.enterprise_id, '[]'))
    from (
        select o.enterprise_id, ((min(o.nth) over (partition by o.group_id) - 1) / 1000)::integer + 1 as batch
        from (
            select g.enterprise_id, g.group_id, row_number() over (order by g.group_id, g.enterprise_id) as nth
            from register.closed_groups(register.affected_enterprises(p_cycle)) g
        ) o
    ) n
    group by n.batch;
    get diagnostics v_batches = row_count;
    return v_batches;
end
$$;
