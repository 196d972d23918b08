-- Cancels the open tasks below those fan-outs of tasks, which have failed and whose families the caller has locked whole, that are
-- to go with them. Locks what `cancel_below` locks.
create or replace function kinfolk.cancel_with_owners(p_failed bigint[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cancelled bigint[] := array(
        select f.id
        from kinfolk.fan_out f
        where f.task_id = any (p_failed)
            and f.cancel_on_failure
            and f.completed + f.failed + f.cancelled < f.total);
begin
    if cardinality(v_cancelled) > 0 then
        perform kinfolk.cancel_below(v_cancelled, p_now);
    end if;
end
$$;
