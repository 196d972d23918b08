-- prune: rows that say nothing any more go, one page.
-- params: 1 now, 2 page
-- index:  spent_over_idx
delete from spent
where (group_id, key) in (
    select group_id,
           key
    from spent
    where over_at <= ?1
      and wakes_at is null
    order by over_at
    limit ?2
)
