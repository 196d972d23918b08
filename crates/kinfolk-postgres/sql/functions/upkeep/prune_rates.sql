-- Removes of groups what has passed, one page, as `prune` does. Answers whether there may be more: then call it again.
create or replace function kinfolk.prune_rates() returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    perform kinfolk.require_read_committed();
    return kinfolk.prune_keys(kinfolk.clock());
end
$$;
