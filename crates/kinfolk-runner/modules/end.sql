-- The commands that run it, unless they are there already, and what `kinfolk doctor` asks. It takes the rights of kinfolk_operator.

reset role;
select kinfolk.register_command(n.name, handler => n.name)
from pg_catalog.unnest(array['db_function', {commands}]) as n(name)
where not exists (select from kinfolk.commands() c where c.name = n.name);
select kinfolk.put_finder('{schema}.find_stuck_' || n.name)
from pg_catalog.unnest(array[{processes}]) as n(name);
