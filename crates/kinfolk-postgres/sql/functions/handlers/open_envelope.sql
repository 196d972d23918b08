-- Opens the envelope `{success, error, validation_failure_message, payload}` that a handler or a hook has answered, and answers its
-- payload. The caller has seen that `success` is a boolean. A failure raises, so that what the function did is undone, but what it
-- wanted to slow down is slowed down: `error` is KF023, tried again by policy; `validation_failure_message` is KF022, failed for
-- good; an envelope that says neither or both is KF024. Locks nothing.

create or replace function kinfolk.open_envelope(p_name text, p_envelope jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_error text := nullif(p_envelope ->> 'error', '');
    v_invalid text := nullif(p_envelope ->> 'validation_failure_message', '');
    v_wrong text;
begin
    v_wrong := case
        when jsonb_typeof(p_envelope -> 'error') not in ('string', 'null') then 'error is no text'
        when jsonb_typeof(p_envelope -> 'validation_failure_message') not in ('string', 'null')
        then 'validation_failure_message is no text'
        when num_nonnulls(v_error, v_invalid) = 2 then 'both error and validation_failure_message are set'
        when (p_envelope -> 'success')::boolean and num_nonnulls(v_error, v_invalid) = 1
        then 'success is true, but a failure is set'
        when not (p_envelope -> 'success')::boolean and num_nonnulls(v_error, v_invalid) = 0
        then 'success is false, but neither error nor validation_failure_message is set'
    end;
    if v_wrong is not null then
        raise exception using errcode = 'KF024', message = format('%s answered a malformed envelope: %s', p_name, v_wrong),
            hint = 'answer {"success": true, "payload": …}, or "success": false with one of error and validation_failure_message;'
                || ' or register the command with envelope => false';
    elsif v_invalid is not null then
        perform kinfolk.end_handler('KF022', v_invalid, interval '0');
    elsif v_error is not null then
        perform kinfolk.end_handler('KF023', v_error, interval '0');
    end if;
    return nullif(p_envelope -> 'payload', 'null');
end
$$;
