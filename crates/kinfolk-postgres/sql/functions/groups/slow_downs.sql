-- The slow-downs that an attempt has asked for, the latest moment of each group: {"provider": "2030-01-01T00:00:00+00:00"}.
create or replace function kinfolk.slow_downs(p_task bigint, p_token uuid) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select coalesce(jsonb_object_agg(s.name, s.until), '{}')
    from (
        select k.name, max(i.due) as until
        from kinfolk.intent i
        cross join lateral jsonb_object_keys(i.slot_keys) as k(name)
        where i.task_id = p_task
            and i.token = p_token
            and i.kind = 'slow_down'
        group by k.name
    ) s
$$;
