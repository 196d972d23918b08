-- Counts the children of fan-outs anew, and sets right what is known of the order in which they ended. Locks the fan-outs,
-- deepest first, then by id.
create or replace function kinfolk.recount(p_fan_outs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    perform from kinfolk.fan_out f where f.id = any (p_fan_outs) order by f.depth desc, f.id for update;
    update kinfolk.fan_out f
    set
        waits = n.waits,
        total = n.total,
        completed = n.completed,
        failed = n.failed,
        cancelled = n.cancelled,
        held = n.held
    from unnest(p_fan_outs) as g(id)
    cross join lateral (
        select count(*) as total,
            count(*) filter (where c.state = 'completed') as completed,
            count(*) filter (where c.state = 'failed') as failed,
            count(*) filter (where c.state = 'cancelled') as cancelled,
            count(*) filter (where c.gate = 'after') as held,
            exists (
                select
                from kinfolk.fan_out o
                join kinfolk.task t on t.id = o.task_id
                where o.id = g.id
                    and t.state::text = 'waiting'
                    and t.outcome is not null) as waits
        from kinfolk.task c
        where c.fan_out_id = g.id
    ) n
    where f.id = g.id
        and f.id = any (p_fan_outs);
    perform kinfolk.reorder(f.id) from kinfolk.fan_out f where f.id = any (p_fan_outs) and f.rule is not null;
end
$$;
