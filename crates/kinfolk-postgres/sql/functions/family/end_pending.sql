-- Cancels pending or suspended tasks, which the caller has locked, for this reason. Applies the visible duplicates of their
-- unique keys. A duplicate that commits later belongs to the next task.
create or replace function kinfolk.end_pending(p_ids bigint[], p_failure jsonb, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_unique bigint[];
    v_slotted bigint[];
begin
    -- Each by its number, whatever the planner thinks of keys.
    v_unique := array(
        select t.id
        from unnest(p_ids) as g(id)
        cross join lateral (
            select t.id, t.unique_key, t.runs
            from kinfolk.task t
            where t.id = g.id
            offset 0
        ) t
        where t.unique_key is not null
            and t.runs = 0);
    if cardinality(v_unique) > 0 then
        perform kinfolk.apply_duplicates(k) from unnest(v_unique) k;
        insert into kinfolk.released_key (queue_id, task_id)
        select t.queue_id, t.id
        from kinfolk.task t
        where t.id = any (v_unique);
    end if;
    with cancelled as (
        update kinfolk.task t
        set
            state = 'cancelled',
            gate = null,
            outcome = null,
            signals = null,
            finished_at = p_now,
            failure = p_failure,
            unique_held = t.unique_held and t.unique_scope = 'window',
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end,
            blocked_group = null,
            blocked_key = null,
            failed_tries = 0
        from unnest(p_ids) as g(id)
        where t.id = g.id
        returning t.id, t.holds_slots
    )
    select array_agg(c.id) filter (where c.holds_slots) into v_slotted from cancelled c;
    if v_slotted is not null then
        perform kinfolk.release_slots(v_slotted);
    end if;
    perform kinfolk.drop_reservations(p_ids);
    perform kinfolk.tell_handlers(p_ids);
end
$$;
