-- A limit and a rate, as `kinfolk_core::group::Setting` is written.
create or replace function kinfolk.setting_shown(p_slots integer, p_count integer, p_per_us bigint, p_burst integer)
returns jsonb
language sql immutable
as $$
    select jsonb_build_object('limit', p_slots, 'rate', case when p_count is not null
        then jsonb_build_object('count', p_count, 'per_us', p_per_us, 'burst', p_burst) end)
$$;
