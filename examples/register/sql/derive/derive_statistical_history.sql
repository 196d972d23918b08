-- ⑤ The parent: a child for each period in which something has changed. The facets follow, asked for by each child too, as those of the
-- batches are.
-- Locks nothing. Reads all periods, a hundred or so.

create function register.derive_statistical_history(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_round bigint := kinfolk.current_task();
    v_periods bigint;
begin
    select count(kinfolk.spawn('derive_statistical_history_period',
        jsonb_build_object('resolution', p.resolution, 'period', p.valid_from, 'round', v_round)))
    into v_periods
    from (select * from register.period p where p.history_dirty order by p.resolution, p.valid_from) p;
    perform register.ask_facets(v_round);
    return jsonb_build_object('periods', v_periods);
end
$$;

create function register.derive_statistical_history_period(payload jsonb) returns jsonb
language plpgsql
as $$
begin
    perform register.refresh_history(payload ->> 'resolution', (payload ->> 'period')::date);
    perform register.ask_facets((payload ->> 'round')::bigint);
    return null;
end
$$;

create function register.ask_facets(round bigint) returns void
language sql
as $$
    select kinfolk.follow_up('derive_statistical_unit_facet', unique_key => format('round %s', round), starts_when => 'completed')
$$;
