-- Locks the workers whose lease has ended, one page of them by id, and answers them. Passes over those that someone else holds.

create or replace function kinfolk.lock_lost(p_worker uuid, p_now timestamptz) returns uuid[]
language plpgsql volatile
as $$
begin
    return array(
        select w.id
        from kinfolk.worker w
        where w.lease_until < p_now
            and w.id <> p_worker
        order by w.id
        limit kinfolk.sweep_page()
        for update skip locked);
end
$$;
