-- Gives tasks that were made in this transaction their keys. Those that were not made after all are passed over.
create or replace function kinfolk.give_keys(p_ids bigint[], p_keys jsonb[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    update kinfolk.task t
    set keys = g.keys
    from unnest(p_ids, p_keys) as g(id, keys)
    where t.id = g.id
        and g.keys is not null;
end
$$;
