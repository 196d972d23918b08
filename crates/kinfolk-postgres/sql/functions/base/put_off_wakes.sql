-- From here on this transaction wakes no worker: it collects the queues instead, and `wakes_put_off` answers them. The caller wakes
-- them after the commit, by `wake_queues`.
--
-- Transactions that notify commit one after another, each with a flush of its own: the server holds one lock for all of them
-- until the commit is on the disk. A worker with many handlers at once would commit only as fast as one connection.

create or replace function kinfolk.put_off_wakes() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform set_config('kinfolk.wakes', '{}', true);
end
$$;
