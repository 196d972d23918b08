-- groups: every group, its declaration, its setting, and whether single keys of it have settings.
-- params: none
-- index:  the whole table, which is small; commands by number, settings by group
select slot_group.id,
       slot_group.name,
       command.name as command,
       slot_group.slots,
       slot_group.rate_count,
       slot_group.rate_per,
       slot_group.rate_burst,
       slot_group.hold,
       slot_group.set_slots,
       slot_group.set_rate_count,
       slot_group.set_rate_per,
       slot_group.set_rate_burst,
       exists (
           select 1
           from slot_setting
           where slot_setting.group_id = slot_group.id
       ) as has_settings
from slot_group
left join command on command.id = slot_group.command_id
