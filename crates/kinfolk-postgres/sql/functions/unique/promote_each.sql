-- Makes the next tasks of what was left behind for these tasks, by number, and answers whether it has made one. While a task holds
-- its key, though it has started, its duplicates wait.

create or replace function kinfolk.promote_each(p_orphaned bigint[], p_now timestamptz) returns boolean
language plpgsql volatile
as $$
declare
    v_task bigint;
    v_made boolean := false;
begin
    for v_task in
        select t.id
        from kinfolk.task t
        where t.id = any (p_orphaned)
            and (t.runs > 0 or t.state <> 'pending')
            and not kinfolk.holds(t, p_now)
        order by t.id
    loop
        begin
            perform kinfolk.promote_orphans(v_task, p_now);
            v_made := true;
        exception
            -- One bad payload must not keep a queue from being claimed: it stays where it is.
            when program_limit_exceeded or data_exception then
                raise warning 'kinfolk: what was enqueued behind task % can not be made a task: %', v_task, sqlerrm;
        end;
    end loop;
    return v_made;
end
$$;
