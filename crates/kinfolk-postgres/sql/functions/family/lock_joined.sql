-- Locks the pending roots that hold the unique keys of these made tasks, follow-ups number `p_from` to `p_to`, by number: the
-- follow-ups are going to join them in the order in which they were made, and a bulk action locks the same rows by number.
-- The caller holds the locks of the keys. Reads `task_unique`.
create or replace function kinfolk.lock_joined(p_maker kinfolk.maker, p_made kinfolk.made, p_from integer, p_to integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform
    from unnest(p_made.command_ids[p_from:p_to], p_made.keys[p_from:p_to]) as g(command_id, key)
    join kinfolk.task t on t.unique_key = g.key and t.command_id = g.command_id
    where t.parent_id is null
        and t.state::text = 'pending'
        and t.runs = 0
        and kinfolk.holds(t, p_maker.now)
    order by t.id
    for update of t;
    -- point: lock_joined.locked
end
$$;
