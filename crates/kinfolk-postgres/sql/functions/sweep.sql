-- Looks for parents that wait though all their children have ended, one page of them, and settles them as their last child
-- should have done. Answers how many there were: none, unless the engine has a bug.
--
-- Looks unlocked first: a child's end and what follows from it are one transaction, so what is seen here is really stuck.
-- Then locks the families concerned as a whole, looks again, and locks what `ended` locks. Reads `task_waiting`, and
-- `task_fan_out` from its end: the last children are those most likely to be open.

create or replace function kinfolk.sweep() returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_stuck record;
    v_fan_outs bigint[];
begin
    perform kinfolk.require_read_committed();
    select array_agg(s.id) as fan_outs, array_agg(distinct s.root_id) as roots
    into v_stuck
    from (
        select f.id, f.root_id
        from kinfolk.task t
        join kinfolk.fan_out f on f.task_id = t.id
        where t.state = 'waiting'
            and not kinfolk.has_open_child(f.id)
        limit kinfolk.sweep_page()
    ) s;
    if v_stuck.fan_outs is null then
        return 0;
    end if;
    perform kinfolk.lock_families(v_stuck.roots, true);
    v_fan_outs := array(
        select f.id
        from unnest(v_stuck.fan_outs) as g(id)
        join kinfolk.fan_out f on f.id = g.id
        join kinfolk.task t on t.id = f.task_id
        where t.state = 'waiting'
            and not kinfolk.has_open_child(f.id));
    perform kinfolk.recount(v_fan_outs);
    perform kinfolk.ended(v_fan_outs, '{}', '{}', kinfolk.clock());
    return cardinality(v_fan_outs);
end
$$;

-- Whether a child of a fan-out has not ended.
create or replace function kinfolk.has_open_child(p_fan_out bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from (
            select c.state
            from kinfolk.task c
            where c.fan_out_id = p_fan_out
                and c.state < 'completed'
            order by c.nth desc
            limit 1
        ) last);
end
$$;
