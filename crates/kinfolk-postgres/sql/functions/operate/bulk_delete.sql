-- Removes the families of those of these tasks that are roots and have ended, no more tasks than a page of retention has.
-- Answers how many went, how many of these could not go, and, where one did not go whole, where to go on.
-- Locks the roots in the order of their numbers, passing over those that someone else holds, as `prune` does.

create or replace function kinfolk.bulk_delete(p_ids bigint[], out done bigint, out skipped bigint, out next bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_most constant integer := kinfolk.sweep_page();
    v_roots bigint[];
    v_root bigint;
begin
    with held as materialized (
        select t.id
        from kinfolk.task t
        where t.id = any (p_ids)
            and t.parent_id is null
            and t.finished_at is not null
            -- What came too late for it is to become the next task first.
            and not exists (select from kinfolk.duplicate d where d.task_id = t.id)
        order by t.id
        for update skip locked
    )
    select coalesce(array_agg(h.id order by h.id), '{}') into v_roots from held h;
    skipped := cardinality(p_ids) - cardinality(v_roots);
    done := 0;
    foreach v_root in array v_roots loop
        if done < v_most then
            done := done + kinfolk.remove_family(v_root, (v_most - done)::integer);
        end if;
        -- point: bulk_delete.removed
        if exists (select from kinfolk.task t where t.id = v_root) then
            next := v_root - 1;
            return;
        end if;
    end loop;
end
$$;
