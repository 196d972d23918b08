-- Raises the errors that callers are meant to understand. Each has a SQLSTATE of its own:
--   KF001 bad input; KF002 no such thing; KF004 the worker's lease is lost; KF005 wrong isolation level;
--   KF006 too large (detail: the size in bytes); KF007 busy; KF008 too many (message: of what; detail: how many); KF010 not inside a handler, or its attempt is over;
--   KF011 what a handler wants to make is refused (detail: why); KF012 a handler's end is not recorded as done (detail:
--   what became of it). KF020 to KF022 are raised for a handler that ends in its own way: see `endings.sql`.

create or replace function kinfolk.refuse(code text, message text, hint text default null, detail text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = code,
        message = refuse.message,
        hint = coalesce(refuse.hint, ''),
        detail = coalesce(refuse.detail, '');
end
$$;
