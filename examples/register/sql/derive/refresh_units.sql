-- Derives the statistical units of a closed group of enterprises into the staging table: all that ever belonged to one of them, and
-- nothing else. What an earlier derivation staged for them is replaced. A unit that is published and no longer there is staged as gone.
-- Answers how many rows it staged.
-- Locks the staged rows of these enterprises, which no other batch touches. Reads `legal_unit_enterprise`, `establishment_legal_unit`,
-- `statistical_unit_enterprise`, `statistical_unit_staging_enterprise` and primary keys.

create function register.refresh_units(enterprises integer[]) returns bigint
language plpgsql
set enable_nestloop = off
set jit = off
as $$
declare
    v_legal_units integer[];
    v_establishments integer[];
begin
    v_legal_units := array(select distinct l.id from register.legal_unit l where l.enterprise_id = any (enterprises));
    v_establishments := array(select distinct e.id from register.establishment e where e.legal_unit_id = any (v_legal_units));
    delete from register.statistical_unit_staging s where s.enterprise_id = any (enterprises);
    perform register.stage_establishments(v_establishments, v_legal_units);
    perform register.stage_legal_units(v_legal_units, enterprises);
    perform register.stage_enterprises(enterprises, v_legal_units);
    insert into register.statistical_unit_staging (unit_type, unit_id, enterprise_id)
    select u.unit_type, u.unit_id, min(u.enterprise_id)
    from register.statistical_unit u
    where u.enterprise_id = any (enterprises)
        and (u.unit_type, u.unit_id) not in (
            select s.unit_type, s.unit_id from register.statistical_unit_staging s where s.enterprise_id = any (enterprises))
    group by u.unit_type, u.unit_id;
    return (select count(*) from register.statistical_unit_staging s where s.enterprise_id = any (enterprises));
end
$$;
