-- Locks the families of the tasks that lost workers ran, one page of those: shared, and `suspended` whole, since tasks of theirs were
-- suspended before. Answers those that it has. It does not wait: a session may hold one and be gone without the server knowing;
-- what is in that family is left for the next sweep. Reads `task_running`.

create or replace function kinfolk.lock_lost_families(p_lost uuid[], out families bigint[], out suspended bigint[])
language plpgsql volatile
as $$
begin
    select coalesce(array_agg(distinct page.root_id) filter (where page.root_id is not null), '{}'),
        coalesce(array_agg(distinct coalesce(page.root_id, page.id)) filter (where page.was_suspended), '{}')
    into families, suspended
    from (
        select t.id, t.root_id, t.was_suspended as was_suspended
        from kinfolk.task t
        where t.worker_id = any (p_lost)
            and t.state = 'running'
        order by t.worker_id, t.id
        limit kinfolk.sweep_page()
    ) page;
    select l.p_shared, l.p_whole into families, suspended from kinfolk.try_lock_families(families, suspended) l;
end
$$;
