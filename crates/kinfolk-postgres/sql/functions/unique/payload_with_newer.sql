-- A payload with newer ones applied, in this order, each by its own rule.
create or replace function kinfolk.payload_with_newer(p_payload jsonb, p_rules kinfolk.on_duplicate[], p_newer jsonb[]) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_replaced integer := (
        select max(r.nth)
        from unnest(p_rules) with ordinality as r(rule, nth)
        where r.rule = 'replace');
begin
    if cardinality(p_newer) is null then
        return p_payload;
    end if;
    return kinfolk.merged_all(case when v_replaced is null then array_prepend(p_payload, p_newer) else p_newer[v_replaced:] end);
end
$$;
