-- Ends a handler in SQL otherwise than by its return or an error of its own, for `snooze`, `retry_after` and `give_up`. It
-- raises, so what the handler did is undone, and what it meant to make is not made; but what it wanted to slow down is slowed
-- down. The detail of the error says the span in microseconds, and until when to slow down what.

create or replace function kinfolk.end_handler(p_code text, p_message text, p_span interval) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_span is null or p_span < interval '0' then
        raise exception using errcode = 'KF001', message = format('a span of %s', coalesce(p_span::text, 'null')),
            hint = 'give a span from now on';
    end if;
    raise exception using errcode = p_code, message = coalesce(p_message, 'no reason given'),
        detail = jsonb_build_object(
            'delay_us', kinfolk.micros(p_span),
            'slow_down', kinfolk.slow_downs(
                nullif(current_setting('kinfolk.task', true), '')::bigint,
                nullif(current_setting('kinfolk.token', true), '')::uuid));
end
$$;
