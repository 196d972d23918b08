-- A number for a key of a group. Two keys may share a number.
create or replace function kinfolk.key_number(p_group integer, p_key text) returns bigint
language sql immutable
as $$ select hashtextextended(p_key, p_group) $$;
