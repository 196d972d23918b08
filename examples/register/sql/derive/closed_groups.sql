-- The closed groups among enterprises: those that share a legal unit or an establishment at any time are one group, which is named by the
-- lowest of them. Most have nothing in common with another and are not followed any further.
-- Locks nothing but tables of its own. Reads `legal_unit` and `establishment` once, or by their indexes where there are few enterprises.

create function register.closed_groups(enterprises integer[]) returns table (enterprise_id integer, group_id integer)
language plpgsql
set jit = off
set client_min_messages = warning
as $$
declare
    v_moved bigint;
begin
    drop table if exists pg_temp.link, pg_temp.label;
    create temporary table link on commit drop as
    with member as materialized (
        select distinct l.id, l.enterprise_id
        from register.legal_unit l
        where l.enterprise_id = any (enterprises)
    ),
    moved as (
        select distinct e.id, e.legal_unit_id
        from register.establishment e
        where e.id in (
            select o.id from register.establishment o where o.legal_unit_id in (select m.id from member m)
            group by o.id having min(o.legal_unit_id) < max(o.legal_unit_id))
    ),
    pair as (
        select m.enterprise_id as a, min(m.enterprise_id) over (partition by m.id) as b from member m
        union
        select m.enterprise_id, min(m.enterprise_id) over (partition by o.id) from moved o join member m on m.id = o.legal_unit_id
    )
    select p.a, p.b from pair p where p.a <> p.b
    union
    select p.b, p.a from pair p where p.a <> p.b;
    create temporary table label on commit drop as
    select distinct k.a as id, k.a as label from pg_temp.link k;
    analyze pg_temp.link, pg_temp.label;

    -- Each takes the lowest name among its neighbours, then the name that one goes by, until nothing moves.
    loop
        update pg_temp.label l
        set label = n.label
        from (select k.a, min(o.label) as label from pg_temp.link k join pg_temp.label o on o.id = k.b group by k.a) n
        where n.a = l.id and n.label < l.label;
        get diagnostics v_moved = row_count;
        exit when v_moved = 0;
        update pg_temp.label l set label = o.label from pg_temp.label o where o.id = l.label and o.label < l.label;
    end loop;
    return query
    select e.id, coalesce(l.label, e.id)
    from unnest(enterprises) as e(id)
    left join pg_temp.label l on l.id = e.id;
end
$$;
