-- What an error that a handler raised means for its task: the outcome, the failure to be kept, the delay, and what is to be slowed
-- down until when.
create or replace function kinfolk.failure_of(
    p_code text, p_message text, p_detail text, p_hint text, p_context text, p_schema text, p_table text, p_column text,
    p_constraint text, out outcome text, out failure jsonb, out delay_us bigint, out slow_down jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_message text := coalesce(nullif(p_message, ''), 'an error without words');
begin
    -- Cut by characters of at most four bytes, so that it fits whatever they are.
    if octet_length(v_message) > kinfolk.error_bytes_max() then
        v_message := left(v_message, kinfolk.error_bytes_max() / 4 - 10) || ' … (cut)';
    end if;
    outcome := 'failed';
    if p_code in ('KF020', 'KF021', 'KF022', 'KF023') then
        slow_down := nullif(p_detail, '')::jsonb -> 'slow_down';
    end if;
    if p_code = 'KF020' then
        outcome := 'snooze';
        delay_us := (nullif(p_detail, '')::jsonb ->> 'delay_us')::bigint;
        return;
    elsif p_code = 'KF021' then
        delay_us := (nullif(p_detail, '')::jsonb ->> 'delay_us')::bigint;
    elsif p_code = 'KF012' then
        if p_detail::jsonb ->> 'state' = 'cancelled' then
            outcome := 'cancelled';
        end if;
        failure := nullif(p_detail::jsonb -> 'failure', 'null');
    elsif p_code = 'KF025' or (p_code = 'KF011' and p_detail not like 'unknown%') then
        outcome := 'never';
    end if;
    failure := coalesce(failure, jsonb_build_object(
        'kind', kinfolk.kind_of_failure(p_code, p_detail),
        'message', v_message,
        'detail', case p_code when 'KF025' then p_detail::jsonb else jsonb_strip_nulls(jsonb_build_object(
            'sqlstate', p_code, 'detail', nullif(p_detail, ''), 'hint', nullif(p_hint, ''),
            'context', nullif(left(p_context, 4000), ''), 'schema', nullif(p_schema, ''), 'table', nullif(p_table, ''),
            'column', nullif(p_column, ''), 'constraint', nullif(p_constraint, ''))) end));
end
$$;
