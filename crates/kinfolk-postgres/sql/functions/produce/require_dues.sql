-- Refuses times at which no task can be due.
create or replace function kinfolk.require_dues(p_dues timestamptz[]) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_due timestamptz;
begin
    select d into v_due from unnest(p_dues) d where not (d > '0001-01-01' and d < '9999-01-01') limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('due is %s, which is out of range', v_due),
            hint = 'give a time from the year 1 to 9998';
    end if;
    return true;
end
$$;
