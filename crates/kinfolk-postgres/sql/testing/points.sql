-- What the marked points of the engine's functions call in the test build: a session that is being walked stops here until
-- its walker lets it go on. Any other session passes.
--
-- The n-th point of session s waits for the shared advisory lock (1263160999, s * 1000 + n), which the walker holds.

create or replace function kinfolk.point(p_name text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_session integer := nullif(current_setting('kinfolk.walk', true), '')::integer;
    v_step integer;
begin
    if v_session is null then
        return;
    end if;
    v_step := coalesce(nullif(current_setting('kinfolk.walk_step', true), '')::integer, 0) + 1;
    perform set_config('kinfolk.walk_step', v_step::text, false);
    perform pg_advisory_xact_lock_shared(1263160999, v_session * 1000 + v_step);
end
$$;

grant execute on function kinfolk.point(text) to public;
