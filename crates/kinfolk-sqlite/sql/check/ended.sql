-- ended: awaited fan-outs whose order of ending does not hold as many children as have ended. The order of an ended family may
-- be gone, and so may children that retention has taken already.
-- params: none
-- index:  the whole table; pages by fan-out, roots by number
select fan_out.task_id,
       'fan-out ' || fan_out.id || ' has ' || (fan_out.completed + fan_out.failed + fan_out.cancelled)
       || ' ended children, ' || coalesce(sum(length(ended_page.nths) / 4), 0) || ' in order'
from fan_out
left join ended_page on ended_page.fan_out_id = fan_out.id
join task as root on root.id = fan_out.root_id
where fan_out.rule is not null
group by fan_out.id
having fan_out.completed + fan_out.failed + fan_out.cancelled <> coalesce(sum(length(ended_page.nths) / 4), 0)
   and not (root.finished_at is not null and count(ended_page.first) = 0)
union all
select null,
       'a page of fan-out ' || fan_out_id
from ended_page
where not exists (
    select 1
    from fan_out
    where fan_out.id = ended_page.fan_out_id
)
