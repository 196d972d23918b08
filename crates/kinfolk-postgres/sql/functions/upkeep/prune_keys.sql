-- Removes one page of the rows of rates that have passed, turns hints into ready keys, and gives up pages of slots that are
-- hardly used, in all groups whose admission lock is free: it takes these locks before any row, never waiting. Answers whether
-- that page was full. Reads `spent_passed`.
create or replace function kinfolk.prune_keys(p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_groups integer[] := array(
        select g.id
        from (select g.id from kinfolk.slot_group g order by g.id) g
        where pg_try_advisory_xact_lock(1263160910, g.id));
    v_gone bigint;
begin
    if v_groups = '{}' then
        return false;
    end if;
    perform kinfolk.add_ready_keys(0, v_groups, p_now);
    perform kinfolk.spread_slots(s.group_id)
    from (
        select s.group_id
        from kinfolk.slot_holder s
        where s.group_id = any (v_groups)
        group by s.group_id
        having sum(cardinality(s.tasks)) < 8 * count(*)
            and count(*) > 1
    ) s;
    -- Noted while the group was removed.
    delete from kinfolk.freed f where not exists (select from kinfolk.slot_group g where g.id = f.group_id);
    delete from kinfolk.spent s
    where s.ctid = any (array(
        select s.ctid
        from kinfolk.spent s
        where greatest(s.spent_until, s.paused_until) <= p_now
            and s.wakes_at is null
            and s.group_id = any (v_groups)
            -- One that holds its slot may have waited for this rate, and not have been looked at since.
            and not exists (select from kinfolk.waiting_lines(s.group_id, s.key))
        limit kinfolk.sweep_page()));
    get diagnostics v_gone = row_count;
    return v_gone >= kinfolk.sweep_page();
end
$$;
