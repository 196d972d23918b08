-- Refuses a filter with a part that nobody knows: a slip of the pen would match every task.

create or replace function kinfolk.require_filter(p_filter jsonb) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_known constant text[] := array['state', 'queue', 'command', 'parent', 'root', 'has_children', 'fan_out', 'roots', 'unique',
        'key', 'created_after', 'created_before', 'finished_after', 'finished_before', 'failure_kind', 'failure_text',
        'payload', 'order', 'before', 'after', 'limit'];
    v_unknown text;
begin
    if jsonb_typeof(p_filter) is distinct from 'object' then
        perform kinfolk.refuse('KF001', 'a filter is a JSON object', 'such as {"state": ["failed"], "command": "mail"}');
    end if;
    select k.part into v_unknown from jsonb_object_keys(p_filter) as k(part) where k.part <> all (v_known) limit 1;
    if v_unknown is not null then
        perform kinfolk.refuse('KF001', format('a filter has no %L', v_unknown), 'there are ' || array_to_string(v_known, ', '));
    end if;
    if coalesce(p_filter ->> 'order', 'newest') not in ('newest', 'oldest') then
        perform kinfolk.refuse('KF001', format('unknown order %L', p_filter ->> 'order'), 'there are newest and oldest');
    end if;
end
$$;
