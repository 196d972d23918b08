-- A page of the keys that are in use, in the order of `groups` and of keys: tasks hold slots of a key, or wait behind it,
-- or none may start under it until some time. `blocking`: only keys that tasks wait behind.
--
-- Steps from key to key in `task_blocked` and `spent`, however many tasks there are in each; reads the pages of `slot_holder` once for
-- each thousand keys.
create or replace function kinfolk.keys(
    group_name text default null, command text default null, blocking boolean default false, after_command text default null,
    after_group text default null, after_key text default null, page integer default 100
) returns table (name text, owner text, key text, slots integer, held bigint, holders bigint[], waiters bigint, until timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := kinfolk.clock();
    v_left integer := least(greatest(keys.page, 1), kinfolk.page_max());
    v_group record;
    v_key text;
    v_held text[];
    v_row record;
begin
    for v_group in
        select g.id, g.name, c.name as owner,
            case when g.name = keys.after_group and c.name is not distinct from keys.after_command then keys.after_key end as after
        from kinfolk.slot_group g
        left join kinfolk.command c on c.id = g.command_id
        where (keys.group_name is null or (g.name = keys.group_name and c.name is not distinct from keys.command))
            and (keys.after_group is null
                or (c.name is not null, coalesce(c.name, ''), g.name)
                    >= (keys.after_command is not null, coalesce(keys.after_command, ''), keys.after_group))
        order by c.name nulls first, g.name
    loop
        v_key := v_group.after;
        v_held := null;
        while v_left > 0 loop
            if v_held is null then
                v_held := case when not keys.blocking then kinfolk.held_keys(v_group.id, v_key, 1000) end;
            end if;
            v_key := least(v_held[1] collate "C", kinfolk.next_key(v_group.id, v_key));
            exit when v_key is null;
            if v_key = v_held[1] then
                v_held := nullif(v_held[2:], '{}');
            end if;
            v_row := kinfolk.key_facts(v_group.id, v_key, v_now);
            if v_row.waiters > 0 or (not keys.blocking and (v_row.held > 0 or v_row.opens_at is not null)) then
                return query select v_group.name, v_group.owner, v_key, v_row.slots, v_row.held, v_row.holders, v_row.waiters,
                    v_row.opens_at;
                v_left := v_left - 1;
            end if;
        end loop;
    end loop;
end
$$;
