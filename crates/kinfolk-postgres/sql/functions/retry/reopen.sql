-- Has tasks, which failed by themselves or were cancelled, await their fan-outs again that did not end well, and forget every step from
-- their cut on, except for the signals that they took: nobody sends those twice. The caller has locked the family whole, and counts the
-- children anew.
create or replace function kinfolk.reopen(p_tasks bigint[], p_cuts integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_tasks is null then
        return;
    end if;
    update kinfolk.fan_out f set wake_at = null where f.task_id = any (p_tasks) and f.wake_at is not null;
    update kinfolk.fan_out f
    set
        verdict = null,
        settled_at = null,
        decided_at = null,
        decided_step = null,
        deadline = null,
        wake_at = f.total
    from unnest(p_tasks) as g(id)
    cross join lateral (select unnest(k.fan_outs) as fan_out from kinfolk.reopening(g.id) k) k
    where f.id = k.fan_out;
    delete from kinfolk.checkpoint c
    using unnest(p_tasks, p_cuts) as g(id, cut)
    where c.task_id = g.id
        and c.seq >= g.cut
        and c.kind <> 'signal';
    -- What is left closes up: by way of numbers that nobody has.
    update kinfolk.checkpoint c
    set seq = -1 - n.seq
    from (
        select k.task_id, k.seq as old, g.cut + row_number() over (partition by g.id order by k.seq) - 1 as seq
        from unnest(p_tasks, p_cuts) as g(id, cut)
        join kinfolk.checkpoint k on k.task_id = g.id and k.seq >= g.cut
    ) n
    where c.task_id = n.task_id
        and c.seq = n.old;
    update kinfolk.checkpoint c
    set seq = -1 - c.seq
    where c.task_id = any (p_tasks)
        and c.seq < 0;
    update kinfolk.task t
    set steps = (select count(*) from kinfolk.checkpoint c where c.task_id = t.id)
    from unnest(p_tasks) as g(id)
    where t.id = g.id;
end
$$;
