-- Prepares tasks that a claim has locked and that start under a unique key. Applies their duplicates. Where
-- several roots were made under one key at the same moment, they become one (`unify_key`).
-- Answers which of the tasks are to
-- be started, and whether some were left for later because another claim holds their sibling, or the lock of their key.
-- `p_made`: this transaction may have made some of the tasks itself.
--
-- Takes the locks of keys (`lock_starts`), then locks pending siblings by `task_unique`, in the order of their numbers, never
-- waiting. Siblings behind a gate are locked, too: another claim may be about to open one of them and to start it.

create or replace function kinfolk.unify_duplicates(
    p_ids bigint[], p_now timestamptz, p_made boolean, out ids bigint[], out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key record;
    v_unified record;
    v_gone bigint[];
begin
    v_gone := kinfolk.lock_starts(p_ids, p_made);
    ids := array(select i from unnest(p_ids) i where i <> all (v_gone));
    left_out := v_gone <> '{}';
    for v_key in
        select t.command_id, t.unique_key, array_agg(t.id) as picked
        from unnest(ids) as p(id)
        join kinfolk.task t on t.id = p.id
        where t.runs = 0
            and t.parent_id is null
            and kinfolk.holds(t, p_now)
            and exists (
                select
                from kinfolk.task s
                where s.unique_key = t.unique_key
                    and s.command_id = t.command_id
                    and s.parent_id is null
                    and s.unique_held
                    and s.id <> t.id)
        group by t.command_id, t.unique_key
    loop
        v_unified := kinfolk.unify_key(v_key.command_id, v_key.unique_key, v_key.picked, p_now);
        -- The lowest may wait for room that was taken for another one, and is given back.
        left_out := left_out or v_unified.is_busy or coalesce(v_unified.lowest <> all (ids), false);
        ids := array(select i from unnest(ids) i where i <> all (v_unified.gone));
    end loop;

    -- A duplicate of a task that has run before is for the next task.
    perform kinfolk.apply_duplicates(t.id)
    from unnest(ids) as p(id)
    join kinfolk.task t on t.id = p.id
    where t.runs = 0
        and exists (select from kinfolk.duplicate d where d.task_id = t.id);
    insert into kinfolk.released_key (queue_id, task_id)
    select t.queue_id, t.id
    from unnest(ids) as p(id)
    join kinfolk.task t on t.id = p.id
    where t.unique_held
        and t.runs = 0;
end
$$;
