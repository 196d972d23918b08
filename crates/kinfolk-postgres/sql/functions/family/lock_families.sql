-- Locks families until the transaction ends, given by their roots, before any row of them is locked. Shared: whoever settles,
-- recovers or gives back a member. Exclusively: whoever works on a family as a whole, and needs its shape to stand still;
-- whoever suspends a handler, or ends an attempt of a task that was suspended before.
--
-- There are 256 such locks for all families, taken in order: a call that settles a thousand families must not fill the
-- server's table of locks. Two families that share a lock only wait for each other where one is locked exclusively.

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
