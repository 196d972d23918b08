-- prune: entries that are past their time go, one page.
-- params: 1 up to when, 2 page
-- index:  audit_at_idx
delete from audit
where id in (
    select id
    from audit
    where at <= ?1
    order by at
    limit ?2
)
