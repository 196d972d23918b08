-- Removes the entries of families that have ended well, for these follow-ups, which wait for other families too: one page. Skips
-- entries that another call has locked.
create or replace function kinfolk.forget_families(p_waiting bigint[]) returns void
language plpgsql volatile
as $$
begin
    -- Whether a follow-up still waits is asked again in this very statement. An entry that is open in its snapshot is not deleted by
    -- it, so one entry always remains.
    delete from kinfolk.follow_up f
    where (f.root_id, f.task_id) in (
        select e.root_id, e.task_id
        from unnest(p_waiting) as w(id)
        cross join lateral (
            select
            from kinfolk.follow_up o
            where o.task_id = w.id
                and o.ended is null
            limit 1
        ) o
        join kinfolk.follow_up e on e.task_id = w.id
        where e.ended is not null
            and (e.ended = 'completed' or not e.needs_completed)
        limit kinfolk.sweep_page()
        for update of e skip locked);
end
$$;
