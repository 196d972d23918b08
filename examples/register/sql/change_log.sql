-- What has changed and was not derived yet. Each statement that changes the register writes one row, with all units it touched. The log
-- is unlogged, since it is written by every import; a crash of the server empties it. So each of its rows has a companion in a
-- logged table. A companion without its row tells that a change was lost, and everything is derived again.

-- A sequence of its own: that of an identity column would be unlogged with its table, and begin anew after a crash.
create sequence register.base_change_log_id;

create unlogged table register.base_change_log (
    id bigint primary key default nextval('register.base_change_log_id'),
    establishment_ids int4multirange not null,
    legal_unit_ids int4multirange not null,
    enterprise_ids int4multirange not null,
    -- All of the register, as after a truncate.
    is_full boolean not null
);

create table register.base_change_log_has_pending (
    change_id bigint primary key
);

-- Writes down a change, and asks for its derivation. The payload is merged: a task that starts before this transaction commits is not
-- the one that gets the change; there is another then.
create function register.log_change(
    establishment_ids int4multirange, legal_unit_ids int4multirange, enterprise_ids int4multirange, is_full boolean default false
) returns void
language plpgsql
as $$
begin
    if not is_full and isempty(establishment_ids) and isempty(legal_unit_ids) and isempty(enterprise_ids) then
        return;
    end if;
    with logged as (
        insert into register.base_change_log as l (establishment_ids, legal_unit_ids, enterprise_ids, is_full)
        values (log_change.establishment_ids, log_change.legal_unit_ids, log_change.enterprise_ids, log_change.is_full)
        returning l.id
    )
    insert into register.base_change_log_has_pending (change_id)
    select l.id
    from logged l;
    perform kinfolk.enqueue('collect_changes', unique_key => 'collect_changes', on_duplicate => 'merge');
end
$$;

-- The numbers as ranges. Imports touch units that stand side by side, so there are few.
create function register.ranges(ids integer[]) returns int4multirange
language sql immutable
as $$
    select coalesce(range_agg(int4range(i, i, '[]')), '{}') from unnest(ids) i
$$;

-- The numbers in a multirange.
create function register.numbers(ranges int4multirange) returns setof integer
language sql immutable rows 1000
as $$
    select generate_series(lower(r), upper(r) - 1) from unnest(ranges) r
$$;
