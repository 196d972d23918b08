-- The errors that callers are meant to understand. Each has a SQLSTATE of its own:
--   KF001 bad input; KF002 no such thing; KF003 the task is in the wrong state (detail: which); KF004 the worker's lease is lost;
--   KF005 wrong isolation level; KF006 too large (detail: the size in bytes); KF007 busy; KF008 too many (message: of what;
--   detail: how many); KF009 an enqueue is rejected (detail: why); KF010 not inside a handler, or its attempt is over; KF011 what
--   a handler wants to make is refused (detail: why); KF012 an attempt is not recorded as done (detail: its end instead). KF020
--   to KF024 are raised for a handler that ends in its own way: see `end_handler` and `open_envelope`; KF025 for one whose fan-out did
--   not end as its rule demands (`refuse_fan_out`).
--
-- Which functions call this? Only functions that raise inside of a query; any other raises by itself, because each function in between
-- adds lines to the output of psql. So doors such as `acquit`, `run_now` and `retry` repeat their refusals. A part of the error that is
-- null is left out.

create or replace function kinfolk.refuse(code text, message text, hint text default null, detail text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if refuse.hint is null and refuse.detail is null then
        raise exception using errcode = code, message = refuse.message;
    elsif refuse.detail is null then
        raise exception using errcode = code, message = refuse.message, hint = refuse.hint;
    elsif refuse.hint is null then
        raise exception using errcode = code, message = refuse.message, detail = refuse.detail;
    end if;
    raise exception using errcode = code, message = refuse.message, hint = refuse.hint, detail = refuse.detail;
end
$$;
