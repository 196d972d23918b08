-- The state of a root whose own work is done: null while it has open children. Reads `fan_out_task`.
create or replace function kinfolk.end_of_root(p_root bigint) returns kinfolk.state
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return (select nullif(kinfolk.joined_state('completed', k.open, k.failed), 'waiting') from kinfolk.count_children(p_root) k);
end
$$;
