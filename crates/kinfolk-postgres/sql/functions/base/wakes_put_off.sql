-- The queues, by number, whose workers this transaction did not wake (`put_off_wakes`). It wakes them itself from here on.

create or replace function kinfolk.wakes_put_off() returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues text := nullif(current_setting('kinfolk.wakes', true), '');
begin
    perform set_config('kinfolk.wakes', '', true);
    return array(select distinct q from unnest(v_queues::integer[]) q);
end
$$;
