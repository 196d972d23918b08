-- The consequences of an error that a handler raised, for its task: the outcome, the failure to be kept, the delay, and the groups
-- to slow down, each until a moment.
create or replace function kinfolk.failure_of(
    p_code text, p_message text, p_detail text, p_hint text, p_context text, p_schema text, p_table text, p_column text,
    p_constraint text, out outcome text, out failure jsonb, out delay_us bigint, out slow_down jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_message text := coalesce(nullif(p_message, ''), 'an error without words');
    v_told record;
begin
    -- Cut by characters of at most four bytes, so that it fits whatever they are.
    if octet_length(v_message) > kinfolk.error_bytes_max() then
        v_message := left(v_message, kinfolk.error_bytes_max() / 4 - 10) || ' … (cut)';
    end if;
    select t.* into v_told from kinfolk.told_by(p_code, p_detail) t;
    slow_down := v_told.slow_down;
    delay_us := case when p_code in ('KF020', 'KF021') then v_told.delay_us end;
    outcome := case
        when p_code = 'KF020' and delay_us is not null then 'snooze'
        when p_code = 'KF012' and v_told.told ->> 'state' = 'cancelled' then 'cancelled'
        when p_code = 'KF012' and v_told.told ->> 'state' = 'failed' then 'never'
        when p_code = 'KF025' and v_told.told is not null then 'never'
        when p_code = 'KF011' and p_detail not like 'unknown%' then 'never'
        else 'failed'
    end;
    failure := case when outcome <> 'snooze' then coalesce(v_told.failure, jsonb_build_object(
        'kind', kinfolk.kind_of_failure(p_code, v_told.told ->> 'kind'),
        'message', v_message,
        'detail', coalesce(case p_code when 'KF025' then v_told.told - 'kind' end, jsonb_strip_nulls(jsonb_build_object(
            'sqlstate', p_code, 'detail', nullif(p_detail, ''), 'hint', nullif(p_hint, ''),
            'context', nullif(left(p_context, 4000), ''), 'schema', nullif(p_schema, ''), 'table', nullif(p_table, ''),
            'column', nullif(p_column, ''), 'constraint', nullif(p_constraint, '')))))) end;
end
$$;
