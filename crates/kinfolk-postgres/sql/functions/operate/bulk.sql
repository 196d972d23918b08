-- Does one thing (`cancel`, `retry`, `run_now`, `delete`) to one page of the tasks that match a filter, the oldest first.
-- Answers to how many it was done (of a delete: how many tasks went), how many matched and it could not be done to them, and
-- where the next page goes on, if there may be one: as `after` of the filter.
-- Finds what `find_tasks` finds. Locks what `lock_bulk` locks, then what the single functions lock. A delete locks the roots alone, as
-- `prune` does.

create or replace function kinfolk.bulk(
    p_action text, p_filter jsonb, out done bigint, out skipped bigint, out next bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_page record;
    v_ids bigint[];
begin
    perform kinfolk.require_read_committed();
    if p_action is null or p_action not in ('cancel', 'retry', 'run_now', 'delete') then
        raise exception using errcode = 'KF001', message = format('unknown action %L', p_action),
            hint = 'there are cancel, retry, run_now and delete';
    end if;
    v_page := kinfolk.find_tasks(p_filter || '{"order": "oldest"}');
    next := v_page.next;
    if p_action = 'delete' then
        select d.done, d.skipped, coalesce(d.next, bulk.next)
        into done, skipped, next
        from kinfolk.bulk_delete(v_page.ids) d;
        return;
    end if;
    v_ids := kinfolk.lock_bulk(p_action, v_page.ids);
    done := (
        select count(*) filter (where o.was_done)
        from (
            select kinfolk.bulk_one(p_action, u.id) as was_done
            from unnest(v_ids) as u(id)
        ) o);
    skipped := coalesce(cardinality(v_page.ids), 0) - done;
end
$$;
