-- rein_in: the rates of a group, or of one key of it, may have changed: of none is more spent than its whole burst, from now
-- on, so that the new rate counts at once.
-- params: 1 group_id, 2 key or null, 3 now
-- index:  spent, by group; settings by group and key
update spent
set spent_until = min(spent.spent_until, ?3 + allowed.whole),
    over_at     = max(min(coalesce(spent.spent_until, 0), ?3 + allowed.whole), coalesce(spent.paused_until, 0))
from (
    select used.key,
           case
               when slot_setting.rate_count is not null then slot_setting.rate_burst
                   * ((slot_setting.rate_per + slot_setting.rate_count - 1) / slot_setting.rate_count)
               when slot_group.set_rate_count is not null then slot_group.set_rate_burst
                   * ((slot_group.set_rate_per + slot_group.set_rate_count - 1) / slot_group.set_rate_count)
               else slot_group.rate_burst * ((slot_group.rate_per + slot_group.rate_count - 1) / slot_group.rate_count)
           end as whole
    from spent as used
    join slot_group on slot_group.id = used.group_id
    left join slot_setting on slot_setting.group_id = used.group_id and slot_setting.key = used.key
    where used.group_id = ?1
      and (?2 is null or used.key = ?2)
) as allowed
where spent.group_id = ?1
  and spent.key = allowed.key
  and allowed.whole is not null
