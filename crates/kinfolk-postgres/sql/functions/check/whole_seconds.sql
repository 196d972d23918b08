-- A span in whole seconds, as it is told to people: `125 s`.

create or replace function kinfolk.whole_seconds(p_span interval) returns text
language sql immutable
as $$ select floor(extract(epoch from p_span))::bigint || ' s' $$;
