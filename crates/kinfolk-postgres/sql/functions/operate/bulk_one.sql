-- Does one thing to one task of a bulk action, and says whether it could be done. A task of a family that has ended is retried
-- with it. Locks what the single functions lock: the caller has the families.

create or replace function kinfolk.bulk_one(p_action text, p_task bigint) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    if p_action = 'cancel' then
        return kinfolk.cancel(p_task) in ('now', 'requested', 'cancelled');
    end if;
    begin
        if p_action = 'run_now' then
            perform kinfolk.run_now(p_task);
        else
            perform kinfolk.retry(p_task);
        end if;
        return true;
    exception
        when sqlstate 'KF002' then
            return false;
        when sqlstate 'KF003' then
            if p_action = 'run_now' then
                return false;
            end if;
    end;
    begin
        perform kinfolk.retry_family(p_task);
        return true;
    exception
        when sqlstate 'KF003' then
            -- It may run again already, with its family.
            return exists (
                select from kinfolk.task t where t.id = p_task and t.state not in ('failed', 'cancelled'));
    end;
end
$$;
