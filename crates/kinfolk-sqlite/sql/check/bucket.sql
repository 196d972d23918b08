-- bucket: tasks that are looked for in the wrong place.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || ', gate ' || coalesce(gate, 'none') || ', lane ' || lane || ', in bucket '
       || coalesce(bucket, 'none')
from task
where replace(bucket, 'outside', 'waiting') is not case
          when state = 'waiting' then iif(gate = 'time', 'asleep', 'waiting')
          when gate = 'open' and fair is not null then 'turn'
          when gate = 'open' and suspect = 0 and lane <> 'top' then lane
          when gate = 'time' and runs > 0 then 'backoff'
          when blocked_group is not null then 'key'
          when gate = 'after' or gate = 'limit' then gate
          when finished_at is not null and lane = 'child' then state
      end
   or (bucket = 'outside' and lane <> 'top')
