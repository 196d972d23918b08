-- Locks the follow-ups of families that are to be set going again, before any other row: those that wait for one of them and were
-- told that it did not complete, and those that were skipped because of that; also those of the roots that were skipped themselves.
-- The caller has locked the families as a whole, so that no member makes another one. Takes the locks of the follow-ups' unique
-- keys, so that no other family joins one meanwhile; then locks the follow-ups by number, and waits for them: a claim that judges
-- one ends soon. Reads the primary keys of `follow_up` and `skipped_follow_up`, and `skipped_follow_up_task`.

create or replace function kinfolk.lock_follow_ups(p_roots bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_follow_ups bigint[] := array(
        select f.task_id
        from kinfolk.follow_up f
        where f.root_id = any (p_roots)
            and f.needs_completed
            and f.ended is not null
        union
        select s.task_id
        from kinfolk.skipped_follow_up s
        where s.root_id = any (p_roots)
        union
        select s.task_id
        from kinfolk.skipped_follow_up s
        where s.task_id = any (p_roots));
begin
    if v_follow_ups = '{}' then
        return;
    end if;
    -- point: lock_follow_ups.found
    perform kinfolk.lock_follow_up_keys(array_agg(c.name), array_agg(t.unique_key))
    from kinfolk.task t
    join kinfolk.command c on c.id = t.command_id
    where t.id = any (v_follow_ups);
    perform
    from (
        select t.id
        from kinfolk.task t
        where t.id = any (v_follow_ups)
        order by t.id
        for update
    ) held;
    -- point: lock_follow_ups.locked
end
$$;
