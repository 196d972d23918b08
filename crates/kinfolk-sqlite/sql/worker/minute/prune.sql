-- prune: minutes that are past their time go, one page.
-- params: 1 up to when, 2 page
-- index:  the primary key
delete from minute
where (minute, queue_id, command_id) in (
    select minute,
           queue_id,
           command_id
    from minute
    where minute <= ?1
    order by minute
    limit ?2
)
