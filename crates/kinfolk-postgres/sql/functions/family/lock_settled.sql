-- Takes in one order all locks that the settles of one transaction need: the families of these tasks exclusively, and the
-- unique keys of their follow-ups.
create or replace function kinfolk.lock_settled(p_tasks bigint[], p_commands text[], p_keys text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.lock_families(array(
        select coalesce(t.root_id, t.id)
        from unnest(p_tasks) as g(id)
        join kinfolk.task t on t.id = g.id), true);
    perform kinfolk.lock_follow_up_keys(p_commands, p_keys);
end
$$;
