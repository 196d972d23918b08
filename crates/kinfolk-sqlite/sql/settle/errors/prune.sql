-- prune: entries that are past their time go, one page.
-- params: 1 up to when, 2 page
-- index:  error_at_idx
delete from error
where id in (
    select id
    from error
    where at <= ?1
    order by at
    limit ?2
)
