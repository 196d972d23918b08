-- Makes one period of the history facets anew from the facets: as the history, by county, division and legal form.
-- Locks the period before it reads, so that what is marked meanwhile stays marked. Reads `statistical_unit_facet_until`.

create function register.refresh_history_facet(p_resolution text, p_period date) returns jsonb
language plpgsql
set jit = off
as $$
declare
    v_end date;
    v_rows bigint;
begin
    update register.period p
    set facet_dirty = false
    where p.resolution = p_resolution and p.valid_from = p_period
    returning p.valid_until into strict v_end;
    delete from register.statistical_history_facet h where h.resolution = p_resolution and h.period = p_period;
    insert into register.statistical_history_facet
    select p_resolution, p_period, f.unit_type, f.county, f.division, f.legal_form,
        coalesce(sum(f.units) filter (where f.valid_until >= v_end), 0),
        coalesce(sum(f.births) filter (where f.valid_from >= p_period), 0),
        coalesce(sum(f.deaths) filter (where f.valid_until < v_end), 0),
        coalesce(sum(f.changes) filter (where f.valid_from >= p_period), 0),
        coalesce(sum(f.employees) filter (where f.valid_until >= v_end), 0),
        coalesce(sum(f.turnover) filter (where f.valid_until >= v_end), 0)
    from register.statistical_unit_facet f
    where f.valid_until >= p_period
        and f.valid_from < v_end
    group by f.unit_type, f.county, f.division, f.legal_form
    order by f.unit_type, f.county, f.division, f.legal_form;
    get diagnostics v_rows = row_count;
    return jsonb_build_object('rows', v_rows);
end
$$;
