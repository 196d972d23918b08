-- Looks for parents that wait though all their children have ended, and for suspended tasks for which something is there already,
-- one page of each, and settles or resumes them as their last child, or their signal, should have done. Then for keys that have room
-- and a task that waits, though no claim would look at them, and makes those ready. Answers how many there were: none, unless the engine has a bug.
--
-- One sweep goes on at a time; another answers 0 at once. Tasks that wait for nothing but their time are not looked at.
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
    if not pg_try_advisory_xact_lock(1263160909, 0) then
        return 0;
    end if;
    select array_agg(s.id) as tasks, array_agg(distinct s.root) as roots
    into v_stuck
    from (
        select t.id, coalesce(t.root_id, t.id) as root
        from kinfolk.task t
        where t.state = 'waiting'
            and (t.outcome is not null or t.signals is not null or exists (
                select
                from (select f.wake_at from kinfolk.fan_out f where f.task_id = t.id offset 0) f
                where f.wake_at is not null))
            and kinfolk.is_stuck(t)
        limit kinfolk.sweep_page()
    ) s;
    if v_stuck.tasks is null then
        return kinfolk.add_lost_keys();
    end if;
    perform kinfolk.lock_families(v_stuck.roots, true);
    v_stuck.tasks := array(
        select t.id
        from unnest(v_stuck.tasks) as g(id)
        join kinfolk.task t on t.id = g.id
        where t.state::text = 'waiting'
            and kinfolk.is_stuck(t));
    v_fan_outs := array(
        select f.id
        from unnest(v_stuck.tasks) as g(id)
        join kinfolk.fan_out f on f.task_id = g.id
        where not kinfolk.has_open_child(f.id)
            or f.wake_at is not null);
    perform kinfolk.recount(v_fan_outs);
    perform kinfolk.ended(v_fan_outs, array_fill(null::integer, array[cardinality(v_fan_outs)]), '{}', '{}', kinfolk.clock());
    perform kinfolk.resume_signalled(v_stuck.tasks);
    return cardinality(v_stuck.tasks) + kinfolk.add_lost_keys();
end
$$;
