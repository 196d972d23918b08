-- The commands that run it, unless they are there already. It takes the rights of kinfolk_operator.

reset role;
select kinfolk.register_command(n.name, handler => n.name)
from pg_catalog.unnest(array['db_function', {commands}]) as n(name)
where not exists (select from kinfolk.commands() c where c.name = n.name);
