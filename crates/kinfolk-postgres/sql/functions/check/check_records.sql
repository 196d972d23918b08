-- The invariants of payloads and attempts, which tables of their own keep.
create or replace function kinfolk.check_records() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select 'every task has a payload', t.state::text, t.id
    from kinfolk.task t
    where t.payload is null
        and not exists (select from kinfolk.body b where b.task_id = t.id)
    union all
    select 'every payload belongs to a task', 'body', b.task_id
    from kinfolk.body b
    where not exists (select from kinfolk.task t where t.id = b.task_id)
    union all
    select 'every attempt belongs to a task', format('run %s', a.run), a.task_id
    from kinfolk.attempt a
    where not exists (select from kinfolk.task t where t.id = a.task_id)
    union all
    select 'a task has no more ended attempts than it has runs', format('%s of %s', count(*), t.runs), t.id
    from kinfolk.task t
    join kinfolk.attempt a on a.task_id = t.id
    group by t.id
    having count(*) > t.runs or max(a.run) > t.runs
$$;
