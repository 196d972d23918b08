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

-- The locks of families, in the order in which they are taken. One that both sorts of families need is taken whole. Without
-- settings of its own, so that it is planned as a part of whoever asks.
create or replace function kinfolk.family_keys(p_shared bigint[], p_whole bigint[]) returns table (key integer, whole boolean)
language sql immutable
as $$
    select hashint8(r.root) & 255, bool_or(r.whole)
    from (
        select s as root, false as whole from unnest(p_shared) s
        union all
        select w, true from unnest(p_whole) w
    ) r
    group by 1
    order by 1
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

-- The same for whoever must not wait: takes those locks that are free. Answers which families it has, of both sorts.
create or replace function kinfolk.try_lock_families(inout p_shared bigint[], inout p_whole bigint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_had integer[];
begin
    select array_agg(l.key) filter (where case
            when l.whole then pg_try_advisory_xact_lock(1263160905, l.key)
            else pg_try_advisory_xact_lock_shared(1263160905, l.key)
        end)
    into v_had
    from kinfolk.family_keys(p_shared, p_whole) l;
    p_shared := array(select s from unnest(p_shared) s where hashint8(s) & 255 = any (v_had));
    p_whole := array(select w from unnest(p_whole) w where hashint8(w) & 255 = any (v_had));
end
$$;

-- Locks a family exclusively if that is possible at once, and says whether it was.
create or replace function kinfolk.try_lock_family(p_root bigint) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select pg_try_advisory_xact_lock(1263160905, hashint8(p_root) & 255) $$;

-- Locks the unique keys of follow-ups until the transaction ends, before any row: of two that are made at once under one
-- key, the second joins the first. There are 256 such locks for all keys, as there are for families.
create or replace function kinfolk.lock_follow_up_keys(p_commands text[], p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(1263160906, l.key)
    from (
        select distinct hashtext(g.command || ' ' || g.key) & 255 as key
        from unnest(p_commands, p_keys) as g(command, key)
        where g.key is not null
        order by 1
    ) l;
end
$$;

-- The same for those that are follow-ups among what a handler made, given by its kinds.
create or replace function kinfolk.lock_follow_up_keys(p_kinds text[], p_commands text[], p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_from integer := array_position(p_kinds, 'follow_up');
    v_to integer := coalesce(array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
begin
    if v_from is not null then
        perform kinfolk.lock_follow_up_keys(p_commands[v_from:v_to], p_keys[v_from:v_to]);
    end if;
end
$$;

-- Takes ahead what several suspensions in one transaction would take one after another. `p_makers`: whether each makes siblings
-- or follow-ups, and so may come to rows of others; such a one, and one that was suspended before, has its family whole.
create or replace function kinfolk.lock_suspended(p_tasks bigint[], p_makers boolean[], p_commands text[], p_keys text[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.lock_families(array_agg(coalesce(t.root_id, t.id)),
        array_agg(coalesce(t.root_id, t.id)) filter (where t.parked or g.is_maker))
    from unnest(p_tasks, p_makers) as g(id, is_maker)
    join kinfolk.task t on t.id = g.id;
    perform kinfolk.lock_follow_up_keys(p_commands, p_keys);
end
$$;

-- Takes ahead what the settles of several calls in one transaction would take one after another, in the one order: the families
-- of these tasks, as a whole, and the keys of the follow-ups they make.
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
