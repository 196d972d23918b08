-- Locks families, given by their roots, until the transaction ends, before any row of them. A settle, a recovery and a
-- release of a member share the lock. A call on the whole family, a suspension of a task that was suspended before, and the
-- end of an attempt of such a task take it exclusively.
--
-- There are 256 such locks for all families, taken in order: a call that settles a thousand families must not fill the
-- server's lock table. Two families that share a lock wait for each other only where one is locked exclusively.

create or replace function kinfolk.lock_families(p_roots bigint[], p_exclusive boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_exclusive then
        perform pg_advisory_xact_lock(1263160905, l.key)
        from (select distinct hashint8(r) & 255 as key from unnest(p_roots) r order by 1) l;
    else
        perform pg_advisory_xact_lock_shared(1263160905, l.key)
        from (select distinct hashint8(r) & 255 as key from unnest(p_roots) r order by 1) l;
    end if;
end
$$;

-- Locks some families shared and others exclusively, in the one order. One that is among both is locked exclusively.
create or replace function kinfolk.lock_families(p_shared bigint[], p_whole bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform case
        when l.whole then pg_advisory_xact_lock(1263160905, l.key)
        else pg_advisory_xact_lock_shared(1263160905, l.key)
    end
    from kinfolk.family_keys(p_shared, p_whole) l;
end
$$;
