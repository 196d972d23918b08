-- Fills an empty register with units that were made from a seed, as one change.
-- Locks nothing that exists.

create procedure register.generate(units integer, seed integer default 1)
language plpgsql
as $$
begin
    if exists (select from register.enterprise) then
        raise exception 'the register is not empty' using hint = 'generate into a new database';
    end if;
    insert into register.enterprise select * from register.made_enterprises(units, seed);
    insert into register.legal_unit select * from register.made_legal_units(units, seed);
    insert into register.establishment select * from register.made_establishments(units, seed);
    insert into register.figure select * from register.made_figures(units, seed);
    analyze register.enterprise, register.legal_unit, register.establishment, register.figure;
end
$$;
