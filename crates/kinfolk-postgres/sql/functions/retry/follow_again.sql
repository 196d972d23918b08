-- Has what follows a family, which is set going again, wait for it again. A follow-up that was told that the family did not complete,
-- and waits for others, forgets it. One that was skipped comes back: pending behind the gate `after`, at its old position, it waits
-- for all families that spoiled it, as they are now. It does not get its unique key back.
-- The caller has locked the family as a whole, and these follow-ups (`lock_follow_ups`). Locks their entries.
-- Reads the primary keys of `follow_up` and `skipped_follow_up`, `skipped_follow_up_task`, and the follow-ups by number.

create or replace function kinfolk.follow_again(p_root bigint) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    update kinfolk.follow_up f
    set ended = null
    where f.root_id = p_root
        and f.needs_completed
        and f.ended is not null;

    with back as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = 'after',
            finished_at = null,
            failure = null
        from kinfolk.skipped_follow_up s
        where s.root_id = p_root
            and t.id = s.task_id
        returning t.id, t.queue_id
    ),
    gone as (
        delete from kinfolk.skipped_follow_up s
        using back b
        where s.task_id = b.id
        returning s.task_id, s.root_id, b.queue_id, s.ended
    )
    insert into kinfolk.follow_up (task_id, root_id, needs_completed, queue_id, ended)
    -- Whatever else spoiled it has ended, or it would have come back with that.
    select g.task_id, g.root_id, true, g.queue_id, case when g.root_id <> p_root then g.ended end
    from gone g;
$$;
