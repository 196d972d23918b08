-- Makes one period of the history anew from the spans: units, employees and turnover on its last day; births, deaths and changes in it.
-- Locks the period before it reads, so that what is marked meanwhile stays marked. Reads all spans, few thousand.

create function register.refresh_history(p_resolution text, p_period date) returns void
language plpgsql
set jit = off
as $$
declare
    v_end date;
begin
    update register.period p
    set history_dirty = false
    where p.resolution = p_resolution and p.valid_from = p_period
    returning p.valid_until into strict v_end;
    delete from register.statistical_history h where h.resolution = p_resolution and h.period = p_period;
    insert into register.statistical_history
    select p_resolution, p_period, s.unit_type,
        coalesce(sum(s.units) filter (where s.valid_from < v_end and s.valid_until >= v_end), 0),
        coalesce(sum(s.births) filter (where s.valid_from >= p_period), 0),
        coalesce(sum(s.deaths) filter (where s.valid_until < v_end), 0),
        coalesce(sum(s.changes) filter (where s.valid_from >= p_period), 0),
        coalesce(sum(s.employees) filter (where s.valid_from < v_end and s.valid_until >= v_end), 0),
        coalesce(sum(s.turnover) filter (where s.valid_from < v_end and s.valid_until >= v_end), 0)
    from register.statistical_unit_span s
    where s.valid_from < v_end
        and s.valid_until >= p_period
    group by s.unit_type;
end
$$;
