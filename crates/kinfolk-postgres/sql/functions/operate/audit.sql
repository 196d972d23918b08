-- Writes an entry of the audit log. Locks nothing that was there.

create or replace function kinfolk.audit(p_who text, p_what text, p_subject text, p_tasks bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if num_nulls(p_who, p_what, p_subject, p_tasks) > 0 then
        raise exception using errcode = 'KF001', message = 'p_who, p_what, p_subject or p_tasks is null',
            hint = 'say who did what to which subject, and to how many tasks';
    end if;
    insert into kinfolk.audit (at, who, what, subject, tasks)
    values (kinfolk.clock(), p_who, p_what, p_subject, p_tasks);
end
$$;
