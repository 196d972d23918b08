-- pages: the order in which the children of a fan-out have ended, from the stretch that holds an ordinal on.
-- params: 1 fan_out_id, 2 ordinal
-- index:  by fan-out and ordinal
select first,
       nths
from ended_page
where fan_out_id = ?1
  and first >= coalesce(
      (
          select max(holding.first)
          from ended_page as holding
          where holding.fan_out_id = ?1
            and holding.first <= ?2
      ),
      0
  )
order by first
