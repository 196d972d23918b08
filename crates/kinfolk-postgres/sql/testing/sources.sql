-- The source of every function of the schema, by name and arguments.

select p.oid::regprocedure || ': ' || p.prosrc
from pg_catalog.pg_proc p
where p.pronamespace = 'kinfolk'::regnamespace
order by p.oid::regprocedure::text
