-- A command as it is after a registration: `p_asked` is a row of `asked_commands`.

create or replace function kinfolk.changed_command(p_command kinfolk.command, p_asked record) returns kinfolk.command
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    p_command.queue_id := coalesce(p_asked.queue_id, p_command.queue_id);
    p_command.priority := coalesce(p_asked.priority, p_command.priority);
    p_command.max_attempts := nullif(coalesce(p_asked.max_attempts, p_command.max_attempts), 0);
    p_command.backoff_base_ms := coalesce(p_asked.base_ms, p_command.backoff_base_ms);
    p_command.backoff_cap_ms := coalesce(p_asked.cap_ms, p_command.backoff_cap_ms);
    p_command.jitter_pct := coalesce(p_asked.jitter_pct, p_command.jitter_pct);
    p_command.max_strikes := coalesce(p_asked.max_strikes, p_command.max_strikes);
    p_command.timeout_us := nullif(coalesce(p_asked.timeout_us, p_command.timeout_us), 0);
    if p_asked.handler is not null then
        p_command.handler := nullif(p_asked.handler, '');
        p_command.handler_kind := p_asked.kind;
    end if;
    p_command.before_handler := nullif(coalesce(p_asked.before, p_command.before_handler), '');
    p_command.after_handler := nullif(coalesce(p_asked.after, p_command.after_handler), '');
    p_command.statement_timeout_us := nullif(coalesce(p_asked.statement_timeout_us, p_command.statement_timeout_us), 0);
    p_command.envelope := coalesce(p_asked.envelope, p_command.envelope);
    p_command.on_success := nullif(coalesce(p_asked.on_success, p_command.on_success), '');
    p_command.on_error := nullif(coalesce(p_asked.on_error, p_command.on_error), '');
    p_command.label := nullif(coalesce(p_asked.label, p_command.label), '');
    if p_command.handler is null then
        p_command.before_handler := null;
        p_command.after_handler := null;
        p_command.statement_timeout_us := null;
        p_command.envelope := true;
        p_command.on_success := null;
        p_command.on_error := null;
    end if;
    return p_command;
end
$$;
