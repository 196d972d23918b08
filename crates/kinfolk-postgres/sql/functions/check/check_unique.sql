-- The invariants of unique keys and duplicates.
create or replace function kinfolk.check_unique() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select 'at most one started task holds a key of scope active', format('%s tasks hold %L', count(*), t.unique_key), min(t.id)
    from kinfolk.task t
    where t.unique_held
        and t.unique_scope = 'active'
        and t.runs > 0
    group by t.command_id, t.unique_key
    having count(*) > 1
    union all
    select 'a task that has started, or ended, does not hold a key of scope pending', t.state::text, t.id
    from kinfolk.task t
    where t.unique_held
        and t.unique_scope = 'pending'
        and (t.runs > 0 or t.state <> 'pending')
    union all
    select 'every duplicate belongs to a task', format('duplicate %s', d.id), d.task_id
    from kinfolk.duplicate d
    where not exists (select from kinfolk.task t where t.id = d.task_id)
    union all
    select 'a duplicate of a task that has given its key up is on the list of released keys', format('duplicate %s', d.id), d.task_id
    from kinfolk.duplicate d
    join kinfolk.task t on t.id = d.task_id
    where (t.runs > 0 or t.state <> 'pending')
        and not exists (select from kinfolk.released_key l where l.task_id = d.task_id)
$$;
