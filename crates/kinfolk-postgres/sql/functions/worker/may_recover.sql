-- Whether a worker may recover what others have lost: it has itself renewed without a gap for a full lease. Refuses one that has
-- no lease.

create or replace function kinfolk.may_recover(p_worker uuid, p_now timestamptz) returns boolean
language plpgsql stable
as $$
declare
    v_me record;
begin
    if p_worker is null then
        raise exception using errcode = 'KF001', message = 'p_worker is null', hint = 'give the id that the worker registered with';
    end if;
    select w.steady_since, w.lease_until, w.lease_us into v_me from kinfolk.worker w where w.id = p_worker;
    if not found then
        raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
            hint = 'register anew';
    end if;
    return p_now <= v_me.lease_until and p_now - v_me.steady_since >= kinfolk.span(v_me.lease_us);
end
$$;
