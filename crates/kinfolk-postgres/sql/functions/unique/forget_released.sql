-- Removes the entries of `released_key` of a queue behind which nothing can be left any more: no transaction is open that may have seen
-- the key held (all numbers below `p_ended` have ended). Notes in those of `p_new`, given by their places, which numbers must end.
--
-- Locks the entries, never waiting. The snapshot with which the caller read the places is still held, so none is used again.

create or replace function kinfolk.forget_released(p_queue integer, p_new tid[], p_ended xid8) returns void
language plpgsql volatile
as $$
begin
    delete from kinfolk.released_key l
    where l.ctid = any (array(
        select e.ctid
        from kinfolk.released_key e
        where e.queue_id = p_queue
            and e.horizon <= p_ended
            and not exists (select from kinfolk.duplicate d where d.task_id = e.task_id)
        limit kinfolk.sweep_page()
        for update skip locked));
    update kinfolk.released_key l
    set horizon = pg_current_xact_id()
    where l.ctid = any (array(
        select e.ctid
        from kinfolk.released_key e
        where e.ctid = any (p_new)
            and e.queue_id = p_queue
            and e.horizon is null
        for update skip locked));
end
$$;
