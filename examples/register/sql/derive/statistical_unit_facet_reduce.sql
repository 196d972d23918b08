-- ⑥b Takes the partitions that were counted into the facets (the reduction), in one transaction. A partition whose counts were lost in a crash is
-- still dirty, and the facets are derived once more.
-- Locks the marks of the partitions, then facets, then periods; all in the order of their keys.

create function register.statistical_unit_facet_reduce(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_facets bigint := register.reduce_facets();
begin
    if exists (select from register.statistical_unit_facet_dirty_partitions d) then
        perform kinfolk.follow_up('derive_statistical_unit_facet');
    else
        perform kinfolk.follow_up('derive_statistical_history_facet');
    end if;
    return jsonb_build_object('facets', v_facets);
end
$$;
