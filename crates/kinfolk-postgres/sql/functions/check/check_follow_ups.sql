-- The invariants of follow-ups that wait for families, and of follow-ups that were skipped: see `check_invariants`.
create or replace function kinfolk.check_follow_ups() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select 'a root behind the gate after waits for families, and no other task does', t.state::text, t.id
    from kinfolk.task t
    where (t.gate is not distinct from 'after' and t.parent_id is null)
        <> exists (select from kinfolk.follow_up f where f.task_id = t.id)
    union all
    select 'every follow-up that waits is a task', format('for family %s', f.root_id), f.task_id
    from kinfolk.follow_up f
    where not exists (select from kinfolk.task t where t.id = f.task_id)
    union all
    select 'a follow-up knows whether a family has ended', coalesce(f.ended::text, 'open'), f.task_id
    from kinfolk.follow_up f
    join kinfolk.task r on r.id = f.root_id
    where (f.ended is null and r.state >= 'completed')
        -- One that had only to settle has done so, even if it is set going again.
        or (f.ended is not null and f.needs_completed and r.state < 'completed')
    union all
    select 'a follow-up that families spoiled was skipped', coalesce(t.state::text, 'gone'), s.task_id
    from kinfolk.skipped_follow_up s
    left join kinfolk.task t on t.id = s.task_id
    where t.state is distinct from 'cancelled'
        or t.failure ->> 'kind' is distinct from 'skipped'
    union all
    select 'a family that spoiled a follow-up has ended, and did not complete', format('task %s is %s', r.id, r.state), s.task_id
    from kinfolk.skipped_follow_up s
    join kinfolk.task r on r.id = s.root_id
    where r.state not in ('failed', 'cancelled')
$$;
