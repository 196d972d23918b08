-- Wakes the workers of the queues, among these, that have a limit: there may be room now.
create or replace function kinfolk.notify_limited(p_queues integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_limited integer[] := array(
        select q.id
        from kinfolk.queue q
        where q.id = any (p_queues)
            and (q.family_limit is not null or q.child_limit is not null));
begin
    if cardinality(v_limited) > 0 then
        perform kinfolk.notify_queues(v_limited, false);
    end if;
end
$$;
