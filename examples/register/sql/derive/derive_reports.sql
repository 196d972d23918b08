-- ④ Begins the reports: periods that the calendar has brought are made, and come first in history.
-- Locks nothing.

create function register.derive_reports(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_new bigint := register.add_periods();
begin
    perform kinfolk.follow_up('derive_statistical_history');
    return jsonb_build_object('new_periods', v_new);
end
$$;

-- Makes the months and years from the first unit to today that are not there, to be derived. Answers how many.
create function register.add_periods() returns bigint
language plpgsql
as $$
declare
    v_first timestamp := (select date_trunc('year', min(s.valid_from)) from register.statistical_unit_span s);
    v_today timestamp := register.today();
    v_new bigint;
begin
    insert into register.period (resolution, valid_from, valid_until)
    select 'year-month', m::date, (m + interval '1 month')::date
    from generate_series(v_first, v_today, interval '1 month') m
    union all
    select 'year', y::date, (y + interval '1 year')::date
    from generate_series(v_first, v_today, interval '1 year') y
    on conflict do nothing;
    get diagnostics v_new = row_count;
    return v_new;
end
$$;
