-- The enterprises that a derivation is about, closed: with every enterprise that shares a legal unit or an establishment with one of them,
-- now or at any time. A full derivation is about all there are, and all that were published.
-- Locks nothing. Reads `legal_unit_enterprise`, `establishment_legal_unit`, `statistical_unit_enterprise` and primary keys.

create function register.affected_enterprises(cycle bigint) returns integer[]
language plpgsql
set jit = off
as $$
declare
    v_cycle register.derive_cycle;
    v_reached integer[];
    v_next integer[];
    v_legal_units integer[];
begin
    select * into strict v_cycle from register.derive_cycle c where c.id = cycle;
    if v_cycle.is_full then
        return array(
            select e.id from register.enterprise e
            union select l.enterprise_id from register.legal_unit l
            union select u.enterprise_id from register.statistical_unit u);
    end if;
    v_legal_units := array(
        select register.numbers(v_cycle.legal_unit_ids)
        union
        select e.legal_unit_id
        from unnest(v_cycle.establishment_ids) r
        join register.establishment e on e.id >= lower(r) and e.id < upper(r));
    v_next := array(
        select register.numbers(v_cycle.enterprise_ids)
        union
        select l.enterprise_id
        from unnest(register.ranges(v_legal_units)) r
        join register.legal_unit l on l.id >= lower(r) and l.id < upper(r));
    while cardinality(v_next) > 0 loop
        v_reached := v_reached || v_next;
        v_next := register.neighbours(v_next);
        v_next := array(select unnest(v_next) except select unnest(v_reached));
    end loop;
    return v_reached;
end
$$;

-- The enterprises that share a unit with one of these, among them these. A unit that was derived for one of them counts too, though it may
-- have nothing to do with it any more: its rows are replaced as a whole.
create function register.neighbours(enterprises integer[]) returns integer[]
language plpgsql
as $$
declare
    v_legal_units integer[];
    v_establishments integer[];
begin
    v_legal_units := array(
        select l.id from register.legal_unit l where l.enterprise_id = any (enterprises)
        union
        select u.unit_id from register.derived_for(enterprises, 'legal_unit') as u(unit_id));
    v_establishments := array(
        select e.id from register.establishment e where e.legal_unit_id = any (v_legal_units)
        union
        select u.unit_id from register.derived_for(enterprises, 'establishment') as u(unit_id));
    v_legal_units := v_legal_units
        || array(select distinct e.legal_unit_id from register.establishment e where e.id = any (v_establishments));
    return array(select distinct l.enterprise_id from register.legal_unit l where l.id = any (v_legal_units));
end
$$;

-- The units of one kind that were derived for these enterprises, merged or not.
create function register.derived_for(enterprises integer[], kind register.unit_type) returns setof integer
language sql stable
as $$
    select u.unit_id
    from register.statistical_unit u
    where u.enterprise_id = any (enterprises) and u.unit_type = kind
    union
    select s.unit_id
    from register.statistical_unit_staging s
    where s.enterprise_id = any (enterprises) and s.unit_type = kind
$$;
