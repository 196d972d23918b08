-- The last task at which a listing looks that goes through the tasks of its page by number; null when there are not so many.
-- Reads the primary key, no further than that.

create or replace function kinfolk.look_end(p_filter jsonb, p_look integer) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    r record;
begin
    select * into r from kinfolk.filter_range(p_filter);
    if p_filter ->> 'order' = 'oldest' then
        return (
            select t.id
            from kinfolk.task t
            where t.id > r.lowest and t.id < r.highest
            order by t.id
            offset p_look - 1
            limit 1);
    end if;
    return (
        select t.id
        from kinfolk.task t
        where t.id > r.lowest and t.id < r.highest
        order by t.id desc
        offset p_look - 1
        limit 1);
end
$$;
