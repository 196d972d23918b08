-- Whether an array has so many elements, all of them there.
create or replace function kinfolk.is_full(p_array anyarray, p_many integer) returns boolean
language sql immutable
as $$ select coalesce(cardinality(p_array) = p_many and array_position(p_array, null) is null, false) $$;
