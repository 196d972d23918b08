-- ① Takes all changes that are logged, as one derivation, which follows up. A change whose row was lost in a crash is known by its
-- companion: then everything is derived.
-- Locks the rows of the log that are committed; those that are not are for the next call.

create function register.collect_changes(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_taken bigint[];
    v_lost bigint;
    v_cycle bigint;
begin
    with taken as (
        delete from register.base_change_log l returning l.*
    ),
    cycle as (
        insert into register.derive_cycle (is_full, establishment_ids, legal_unit_ids, enterprise_ids)
        select coalesce(bool_or(t.is_full), false),
            coalesce((select range_agg(r) from taken n cross join lateral unnest(n.establishment_ids) r), '{}'),
            coalesce((select range_agg(r) from taken n cross join lateral unnest(n.legal_unit_ids) r), '{}'),
            coalesce((select range_agg(r) from taken n cross join lateral unnest(n.enterprise_ids) r), '{}')
        from taken t
        returning id
    )
    select c.id, (select array_agg(t.id) from taken t) into v_cycle, v_taken
    from cycle c;

    delete from register.base_change_log_has_pending p where p.change_id = any (v_taken);
    -- One statement, one snapshot: a change that was committed meanwhile has both of its rows here.
    delete from register.base_change_log_has_pending p
    where not exists (select from register.base_change_log l where l.id = p.change_id);
    get diagnostics v_lost = row_count;

    if v_taken is null and v_lost = 0 then
        delete from register.derive_cycle c where c.id = v_cycle;
        return jsonb_build_object('changes', 0);
    end if;
    update register.derive_cycle c set is_full = true where c.id = v_cycle and v_lost > 0;
    perform kinfolk.follow_up('derive_statistical_unit', jsonb_build_object('cycle', v_cycle));
    return jsonb_build_object('cycle', v_cycle, 'changes', cardinality(v_taken), 'lost', v_lost);
end
$$;
