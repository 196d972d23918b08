-- The fan-out that a function means to begin with so many sub-tasks, under the checkpoint `fan_out` of this occurrence; none where
-- there are no sub-tasks.
create or replace function kinfolk.fan_out_of(p_meant jsonb, p_many integer, p_occurrence integer) returns kinfolk.begun_fan_outs
language plpgsql immutable
as $$
begin
    if p_many = 0 then
        return row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')::kinfolk.begun_fan_outs;
    end if;
    return row(array[p_many], array[''], array['fan_out'], array[p_occurrence], array['sql'], array[p_meant ->> 'rule'],
        array[(p_meant ->> 'parts')::integer], array[(p_meant ->> 'timeout_us')::bigint], array[(p_meant ->> 'cancels')::boolean],
        array[p_many])::kinfolk.begun_fan_outs;
end
$$;
